// SPDX-License-Identifier: Apache-2.0
//
// The reader's own JSON against nlohmann_json: the same values, and the same byte where a text is broken.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/pages/config_tree.hpp>
#include <floptally/detail/pages/from_nlohmann.hpp>
#include <floptally/detail/pages/json_text.hpp>
#include <floptally/error.hpp>

#include "../catch2.hpp"

namespace {

using floptally::detail::pages::config_node;
using floptally::detail::pages::config_tree;

/// All that a tree says, in one order, with no recursion.
std::string said_by(const config_tree& tree) {
    std::string text;
    std::vector<const config_node*> open{&tree.root()};
    while (!open.empty()) {
        const config_node& node = *open.back();
        open.pop_back();
        std::ostringstream line;
        line.precision(17);
        line << node.key.size() << node.key << ':' << static_cast<int>(node.is) << node.beyond << ' ' << node.number
             << ' ' << (node.is == config_node::kind::real ? node.real : 0.0) << ' ' << node.text.size() << node.text
             << ' ' << node.count << '\n';
        text += line.str();
        for (std::size_t k = node.count; k-- > 0;) {
            open.push_back(&tree.child(node, k));
        }
    }
    return text;
}

std::string read_by_us(const std::string& text) {
    try {
        std::istringstream in(text);
        return said_by(floptally::detail::pages::tree_of_text(in));
    } catch (const floptally::error& problem) {
        return problem.what();
    }
}

std::string read_by_nlohmann(const std::string& text) {
    try {
        return said_by(floptally::detail::pages::tree_of(nlohmann::json::parse(text)));
    } catch (const nlohmann::json::parse_error& problem) {
        return "config: must be a JSON object, cannot be parsed at byte " + std::to_string(problem.byte);
    } catch (const nlohmann::json::out_of_range&) {
        return "config: must be a JSON object, has a number that no double holds";
    }
}

constexpr std::string_view texts[] = {
    R"({"a": 1, "b": [1, -2, 3.5, 1e3, -0, -0.0, 0.1e-2, true, false, null], "a": {"c": "d", "b": {}}, "B": []})",
    R"([18446744073709551615, 18446744073709551616, -9223372036854775808, -9223372036854775809, 9223372036854775807])",
    R"([1e400])",
    R"([-1e400, 1])",
    R"([1e-400, 0e999999999999, 0.0e-99999, 4.9e-324, 2e-324, 1.7976931348623157e308])",
    R"([1.7976931348623159e308])",
    R"([0.00000000000000000000000000000000001e340, 100000000000000000000000000000000000e-350])",
    R"(["\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00\u0000", "é€😀"])",
    R"({"zz": 1, "z": 2, "": 3, "é": 4, "Z": 5, "z": 6, "y": 7, "z": 8})",
    "\xEF\xBB\xBF{\"a\": 1}",
    "\xEF\xBB{}",
    "\xEF",
    " \t\r\n[ ] \n",
    "7",
    "\"text\"",
    "nul",
    "trux",
    "falsE",
    "[01]",
    "[1.]",
    "[1.e1]",
    "[1e]",
    "[1e+]",
    "[-]",
    "[-a]",
    "[+1]",
    "[.5]",
    "[1,]",
    "[,1]",
    "{\"a\" 1}",
    "{\"a\": }",
    "{a: 1}",
    "{1: 2}",
    "{\"a\": 1,}",
    "{\"a\": 1]",
    "[1}",
    "[1 2]",
    "{} {}",
    "{} 12",
    "[\"\\x\"]",
    "[\"\\u12g4\"]",
    "[\"\\ud800\"]",
    "[\"\\ud800\\u0041\"]",
    "[\"\\ud800x\"]",
    "[\"\\udc00\"]",
    "[\"\x01\"]",
    "[\"\x7f\"]",
    "[\"\x80\"]",
    "[\"\xC0\xAF\"]",
    "[\"\xE0\x80\x80\"]",
    "[\"\xED\xA0\x80\"]",
    "[\"\xF4\x90\x80\x80\"]",
    "[\"\xF0\x9F\x98\"]",
    "[\"open",
    "[\"open\\",
    "// comment\n1",
    "",
    " ",
    "]",
    "{",
    "[[[[",
};

}  // namespace

TEST_CASE("a text is read as nlohmann_json reads it") {
    for (const std::string_view text : texts) {
        CAPTURE(text);
        CHECK(read_by_us(std::string(text)) == read_by_nlohmann(std::string(text)));
    }
    const std::string null("{}\0 junk", 8);  // a zero is the end, as it is to nlohmann_json
    CHECK(read_by_us(null) == read_by_nlohmann(null));
}

TEST_CASE("texts of which some bytes were changed are read as nlohmann_json reads them") {
    constexpr char some[] = "{}[]:,\"\\ \t\n0123456789.eE+-truefalsn/\x00\x1f\x80\xbf\xc2\xe0\xed\xf0\xf4\xff";
    const std::string bytes(some, sizeof some - 1);
    std::mt19937 random(17);
    const auto below = [&random](std::size_t bound) {
        return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
    };
    std::size_t read = 0;
    for (int round = 0; round < 200; ++round) {
        for (const std::string_view original : texts) {
            std::string text(original);
            for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
                const std::size_t at = below(text.size());
                const std::size_t how = below(3);
                if (how == 0) {
                    text[at] = bytes[below(bytes.size())];
                } else if (how == 1) {
                    text.insert(at, 1, bytes[below(bytes.size())]);
                } else {
                    text.erase(at, 1);
                }
            }
            const std::string ours = read_by_us(text);
            if (ours != read_by_nlohmann(text)) {
                CAPTURE(text);
                CHECK(ours == read_by_nlohmann(text));
            }
            read += ours.starts_with("config: ") ? 0 : 1;
        }
    }
    CHECK(read > 100);  // not all of them are broken
}

TEST_CASE("real configs are read as nlohmann_json reads them") {
    const nlohmann::json published =
        nlohmann::json::parse(std::ifstream(std::filesystem::path(FLOPTALLY_GOLDEN_DIR) / "published.json"));
    const std::string whole = published.dump();
    CHECK(read_by_us(whole) == read_by_nlohmann(whole));
    const std::string indented = published.dump(3);
    CHECK(read_by_us(indented) == said_by(floptally::detail::pages::tree_of(published)));
}
