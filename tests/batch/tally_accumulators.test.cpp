// SPDX-License-Identifier: Apache-2.0
//
// docs/parallel.md specifies a tally's words and a reduction's message for programs in other languages.

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/parallel/reduction.hpp>

#include "catch2.hpp"
#include "markdown.hpp"
#include "refusal_of.hpp"

namespace tally_accumulators_test {
namespace {

using floptally::accumulator;
using floptally::grid;
using floptally::mask;
using floptally::modality;
using floptally::sequence;
using floptally::tally;
using u64 = std::uint64_t;

std::string section() {
    const std::string page = read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/parallel.md");
    const std::size_t first = page.find("\n## A tally's words\n");
    REQUIRE(first != std::string::npos);
    return page.substr(first, page.find("\n## ", first + 1) - first);
}

/// Names of the fixed accumulators, by the table: "| 0 | `count` | …".
std::vector<std::string> listed_accumulators() {
    std::vector<std::string> names;
    std::istringstream lines(section());
    for (std::string line; std::getline(lines, line);) {
        const std::string begin = "| " + std::to_string(names.size()) + " | `";
        if (line.starts_with(begin)) {
            names.push_back(line.substr(begin.size(), line.find('`', begin.size()) - begin.size()));
        }
    }
    return names;
}

/// The fixed accumulators of one sample, from the definitions: name by name.
u64 amount(const std::string& name, u64 n, u64 past, u64 keys, u64 routed) {
    const std::vector<std::pair<std::string, u64>> known{
        {"count", n > 0 ? 1 : 0}, {"tokens", n},         {"keys", keys},    {"squares", n * n},
        {"cached", n * past},     {"crossed", n * keys}, {"routed", routed}};
    for (const auto& [which, value] : known) {
        if (which == name) {
            return value;
        }
    }
    FAIL("the page lists an accumulator that nobody knows: " << name);
    return 0;
}

}  // namespace

TEST_CASE("the accumulators of a tally have the order that docs/parallel.md lists") {
    const std::vector<std::string> names = listed_accumulators();
    REQUIRE(names.size() == 7);
    tally batch{floptally::mask_set{mask::sliding_window(4), mask::chunked(3)}};
    batch.add(sequence{.length = 5, .past = 3, .keys = 2}, sequence{.length = 6, .past = 3, .keys = 2});
    batch.add_routed({.useful = 11, .padded = 13});
    const auto accumulators = batch.accumulators();
    static_assert(sizeof(accumulators[0]) == 8);
    REQUIRE(accumulators.size() == 2 * (7 + 2));
    for (std::size_t i = 0; i < names.size(); ++i) {
        INFO(names[i]);
        CHECK(accumulators[i] == amount(names[i], 5, 3, 2, 11));
        CHECK(accumulators[9 + i] == amount(names[i], 6, 3, 2, 13));
        CHECK(names[i] == floptally::name_of(static_cast<accumulator>(i)));
    }
    u64 windowed = 0;
    for (u64 query = 3; query < 8; ++query) {
        windowed += query + 1 < 4 ? query + 1 : 4;
    }
    CHECK(accumulators[7] == windowed);
    CHECK(accumulators[8] == batch.pairs(floptally::view::useful, mask::chunked(3)));
    CHECK(accumulators[7] == batch.pairs(floptally::view::useful, mask::sliding_window(4)));
    CHECK(batch.pairs(floptally::view::useful, mask::causal()) == (25 + 5) / 2 + 15);
    CHECK(tally::from_accumulators(batch.masks(), accumulators) == batch);
}

TEST_CASE("a tally of text, images and audio has seven accumulators for each modality, then one for each mask") {
    CHECK(section().find("masks from accumulator 21 on") != std::string::npos);
    floptally::mask_set masks{mask::sliding_window(4)};
    masks.include(modality::text);
    masks.include(modality::vision);
    tally batch{masks};
    batch.add(sequence{.length = 5});
    batch.add(grid{2, 3, 4});
    const auto accumulators = batch.accumulators();
    REQUIRE(accumulators.size() == 2 * (21 + 1));
    CHECK((accumulators[0] == 1 && accumulators[1] == 5 && accumulators[3] == 25));
    CHECK((accumulators[7] == 2 && accumulators[8] == 24 && accumulators[10] == 2 * 144));
    CHECK(accumulators[21] == 1 + 2 + 3 + 4 + 4);
}

TEST_CASE("the all-reduce message of a sum over ranks has the layout that docs/parallel.md describes") {
    CHECK(section().find("splitmix64(6·coordinate + axis) | 1 with axes tp 0, cp 1, dp 2, pp 3") != std::string::npos);
    const auto splitmix = [](u64 value) {
        value += 0x9E37'79B9'7F4A'7C15U;
        value = (value ^ (value >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
        value = (value ^ (value >> 27U)) * 0x94D0'49BB'1331'11EBU;
        return value ^ (value >> 31U);
    };
    const auto weight = [&](u64 axis, u64 coordinate) { return splitmix(6 * coordinate + axis) | 1U; };
    const floptally::parallel_layout layout({.dp = 2, .tp = 3}, 6, 5);  // tp 2, dp 1
    const floptally::verified_sum sum(layout, {{"tokens", floptally::scopes::microbatch}});
    const u64 value = 0x1234'5678'9ABC'DEF0U;
    const std::vector<u64> sent = sum.message(std::vector<u64>{value});
    const u64 all = weight(0, 2) * weight(1, 0) * weight(2, 1) * weight(3, 0);
    CHECK(sent == std::vector<u64>{1, all, 0, 0, value & 0xFFFF'FFFFU, value >> 32U, value * weight(0, 2)});
    const std::vector<u64> refused = refusal_of(sum);
    CHECK((refused[2] == 1 && refused[3] == 5 && refused.size() == sent.size()));
}

}  // namespace tally_accumulators_test
