// SPDX-License-Identifier: Apache-2.0
//
// What stands in the pages is needed: every way that a choice can go is taken by a config of the goldens, whose costs
// are compared with real models; every key that is declared is read, and every name is used.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/detail/pages/from_nlohmann.hpp>
#include <floptally/detail/pages/name_check.hpp>
#include <floptally/detail/pages/read.hpp>

#include "catch2.hpp"
#include "golden.hpp"
#include "sanitized.hpp"

namespace {

using nlohmann::json;
namespace pages = floptally::detail::pages;

constexpr const char* remote =
    "the class is code beside the checkpoint, which cannot be run here, and the published files all say it so";
constexpr const char* refused = "a rule alone asks for it, and the other way is an error";

/// All pages of the library, those of sides too, which a test may change.
std::vector<pages::page*> all_of(pages::library& from) {
    std::vector<pages::page*> all;
    for (const pages::model_page& file : pages::model_pages) {
        for (std::size_t at = file.text.find("\npage "); at != std::string_view::npos;
             at = file.text.find("\npage ", at + 1)) {
            const std::string_view rest = file.text.substr(at + 6);
            // The library owns its pages and hands them out to be read.
            all.push_back(const_cast<pages::page*>(&from.find(rest.substr(0, rest.find_first_of(" \n")))));
        }
    }
    return all;
}

/// The configs that goldens compare with real models.
std::vector<json> golden_configs() {
    std::vector<json> all;
    for (const auto& file : std::filesystem::directory_iterator(std::string(FLOPTALLY_GOLDEN_DIR) + "/zoo")) {
        if (file.path().extension() == ".json") {
            for (const json& one : golden(file.path().c_str())) {
                all.push_back(one["config"]);
                if (one.contains("resolved")) {
                    all.push_back(one["resolved"]);
                }
            }
        }
    }
    for (const json& one : golden("published.json")) {
        all.push_back(one["config"]);
    }
    return all;
}

/// The expressions that a rule's is made of: the other way of a side of them is an error.
void add_all(const pages::page& of, std::size_t root, std::set<std::size_t>& into) {
    into.insert(root);
    const pages::expression& e = of.expressions[root];
    for (std::size_t k = 0; k < e.count; ++k) {
        add_all(of, of.operands[e.first + k], into);
    }
}

/// Ways that expressions of a page can go: of a choice, of a condition, of both sides of `and` and `or`. Each not taken
/// yet is poisoned: an unknown name, whose line is a number of its own, so that the error of a config that takes it
/// says which it is.
class way_finder {
  public:
    explicit way_finder(pages::library& book) : book_(book) {
        for (pages::page* one : all_of(book)) {
            const std::size_t written = one->expressions.size();
            std::set<std::size_t> ruled;
            for (const pages::page_rule& rule : one->rules) {
                if (!rule.is_note) {
                    add_all(*one, rule.holds, ruled);
                }
            }
            for (std::size_t k = 0; k < written; ++k) {
                const pages::expression e = one->expressions[k];
                const bool is_and = e.what == pages::op::both;
                if (e.what == pages::op::choose) {
                    poison(*one, e.first + 1, e.line, "? yes");
                    poison(*one, e.first + 2, e.line, "? no");
                } else if (e.what == pages::op::or_null) {
                    poison(*one, e.first + 1, e.line, "?? null");
                } else if ((is_and || e.what == pages::op::either) && ruled.count(k) == 0) {
                    for (const std::size_t side : {e.first, e.first + 1}) {  // both_ways adds operands
                        const char* const how = is_and ? (side == e.first ? "left and" : "and right")
                                                       : (side == e.first ? "left or" : "or right");
                        const std::size_t made = both_ways(*one, one->operands[side], e.line, how);
                        one->operands[side] = made;
                    }
                }
            }
            for (pages::block& lines : one->blocks) {
                for (pages::part_line& line : lines.lines) {
                    if (line.condition != pages::no_expression) {
                        line.condition = both_ways(*one, line.condition, line.line, "if");
                    }
                }
            }
        }
    }

    /// Reads a config until no way is new to it.
    void walk(const json& config) {
        const pages::config_tree tree = pages::tree_of(config);
        for (;;) {
            try {
                static_cast<void>(pages::read_pages(tree, {}, book_));
                return;
            } catch (const floptally::error& problem) {
                const std::string field(problem.field());
                const std::size_t colon = field.rfind(':');
                const unsigned long line = colon == std::string::npos ? 0 : std::stoul(field.substr(colon + 1));
                if (line < first_line) {
                    return;  // a resolved config whose class is another type's; zoo.test.cpp says which may be
                }
                way& found = ways_[line - first_line];
                REQUIRE_FALSE(found.taken);
                found.of->operands[found.operand] = found.instead;
                found.taken = true;
            }
        }
    }

    /// "qwen2:13 ? no" of each that no config took.
    [[nodiscard]] std::vector<std::string> left() const {
        std::vector<std::string> all;
        for (const way& one : ways_) {
            if (!one.taken) {
                all.push_back(std::string(one.of->name) + ":" + std::to_string(one.line) + " " + one.how);
            }
        }
        return all;
    }
    [[nodiscard]] std::size_t size() const { return ways_.size(); }

  private:
    static constexpr unsigned first_line = 1'000'000;

    struct way {
        pages::page* of;
        std::size_t operand;
        std::size_t instead;
        unsigned line;
        std::string how;
        bool taken = false;
    };

    void poison(pages::page& in, std::size_t operand, unsigned line, std::string how) {
        ways_.push_back({&in, operand, in.operands[operand], line, std::move(how)});
        pages::expression unheard{.what = pages::op::name,
                                  .line = static_cast<unsigned>(first_line + ways_.size() - 1)};
        unheard.text = "a way that no config took";
        in.operands[operand] = in.expressions.size();
        in.expressions.push_back(unheard);
    }
    /// `condition ? yes : no`, so that it can be seen which it was.
    [[nodiscard]] std::size_t both_ways(pages::page& in, std::size_t condition, unsigned line,
                                        const std::string& where) {
        const auto flag = [&](std::int64_t on) {
            in.expressions.push_back({.what = pages::op::flag, .line = line, .number = on});
            return in.expressions.size() - 1;
        };
        const std::size_t first = in.operands.size();
        in.operands.push_back(condition);
        in.operands.push_back(flag(1));
        in.operands.push_back(flag(0));
        in.expressions.push_back({.what = pages::op::choose, .line = line, .first = first, .count = 3});
        const std::size_t made = in.expressions.size() - 1;
        poison(in, first + 1, line, where + " yes");
        poison(in, first + 2, line, where + " no");
        return made;
    }

    pages::library& book_;
    std::vector<way> ways_;
};

/// A page, its bases, and the pages that stand on it: where what it says may be used.
std::vector<const pages::page*> family_of(const pages::page& one, const std::vector<pages::page*>& all) {
    std::vector<const pages::page*> family;
    for (const pages::page* other : all) {
        if (other->stands_on(one) || one.stands_on(*other)) {
            family.push_back(other);
        }
    }
    // Those that stand on it have other bases between, whose lines they take.
    const std::size_t direct = family.size();
    for (std::size_t k = 0; k < direct; ++k) {
        for (const pages::page* base = family[k]->base; base != nullptr; base = base->base) {
            if (std::find(family.begin(), family.end(), base) == family.end()) {
                family.push_back(base);
            }
        }
    }
    return family;
}

/// Expressions in the texts of rules: "{h}".
bool says(const pages::page& one, std::string_view what) {
    for (const pages::page_rule& rule : one.rules) {
        for (std::size_t at = rule.text.find('{'); at != std::string_view::npos; at = rule.text.find('{', at + 1)) {
            const std::string_view inside = rule.text.substr(at, rule.text.find('}', at) - at);
            if (inside.find(what) != std::string_view::npos) {
                return true;
            }
        }
    }
    return false;
}

/// By its name, or, of an object, by that of a key inside (`.attn_config.kv_n_heads`).
bool refers(const pages::page& one, pages::op how, std::string_view name) {
    for (const pages::expression& e : one.expressions) {
        if (e.what == how && (e.text == name || e.text.starts_with(std::string(name) + "."))) {
            return true;
        }
    }
    return false;
}

/// `text.h` in some page: a definition that a model around this one asks for.
bool is_member(std::string_view name, const std::vector<pages::page*>& all) {
    for (const pages::page* one : all) {
        for (const pages::expression& e : one->expressions) {
            if (e.what == pages::op::member && one->expressions[one->operands[e.first]].text == name) {
                return true;
            }
        }
        if (says(*one, "." + std::string(name))) {
            return true;
        }
    }
    return false;
}

}  // namespace

TEST_CASE("Every way that a choice of a page can go is taken by a config that is compared with a real model") {
    if (is_sanitized) {
        return;  // it needs all of them
    }
    pages::library book;
    way_finder finder(book);
    for (const json& config : golden_configs()) {
        if (config["model_type"] != "floptally" && config["model_type"] != "hstu") {
            finder.walk(config);
        }
    }
    // What no golden takes, and why.
    const std::map<std::string, std::string> reasons{
        {"deepseek:8 ?? null", remote},
        {"deepseek:9 ? yes", remote},
        {"deepseek:15 ?? null", remote},
        {"exaone:7 ?? null", remote},
        {"exaone:8 ?? null", remote},
        {"internlm2:4 ?? null", remote},
        {"minicpm:5 ?? null", remote},
        {"minicpm:6 ? yes", remote},
        {"base:23 or right yes", "no class that attends both ways where it is asked takes the word \"all\""},
        {"deepseek_v4:21 left and no", "of layers that predict further tokens, which a test of their own counts"},
        {"deepseek_v4:22 left and no", "likewise"},
        {"gemma3n_audio:36 left and no", refused},
        {"gemma3n_audio:36 and right no", refused},
        {"gemma3n_audio:37 left and no", refused},
        {"gemma3n_audio:37 and right no", refused},
        {"segformer:58 or right no", refused},
    };
    std::string said;
    std::set<std::string> named;
    for (const std::string& one : finder.left()) {
        if (reasons.count(one) == 1) {
            named.insert(one);
        }
        said += reasons.count(one) == 1 ? "" : one + "\n";
    }
    INFO(said);
    CHECK(said == "");
    CHECK(named.size() == reasons.size());  // a reason that is not needed any more
    CHECK(finder.size() > 1300);
}

TEST_CASE("Every name of a page is used: by its lines, its kin's, a model around it, or the reader") {
    pages::library book;
    const std::vector<pages::page*> all = all_of(book);
    std::string unused;
    for (const pages::page* one : all) {
        const std::vector<const pages::page*> family = family_of(*one, all);
        for (const pages::definition& name : one->definitions) {
            bool used = is_member(name.name, all);
            for (const pages::page* kin : family) {
                used = used || pages::name_check::is_of_reader(*kin, name.name) ||
                       refers(*kin, pages::op::name, name.name) || says(*kin, name.name);
            }
            if (!used) {
                unused +=
                    std::string(one->name) + ":" + std::to_string(name.line) + " " + std::string(name.name) + "\n";
            }
        }
    }
    INFO(unused);
    CHECK(unused == "");
}

TEST_CASE(
    "Every key that a page declares is read, but those that are declared as any, so that nothing is said of them") {
    pages::library book;
    const std::vector<pages::page*> all = all_of(book);
    std::string unread;
    for (const pages::page* one : all) {
        const std::vector<const pages::page*> family = family_of(*one, all);
        for (const pages::key_rule& key : one->keys) {
            // `any` silences the note of a key that changes nothing; null and words are checks of what may be there.
            bool read = key.kinds == pages::allowed::any || key.kinds == pages::allowed::null || !key.words.empty();
            for (const pages::page* kin : family) {
                read = read || refers(*kin, pages::op::key, key.key) || says(*kin, "." + std::string(key.key));
                for (const pages::inner_model& model : kin->inner) {
                    read = read || model.key == key.key;
                }
                for (const pages::key_rule& inside : kin->keys) {  // `.attn_config.kv_n_heads`
                    read = read || inside.key.substr(0, key.key.size() + 1) == std::string(key.key) + ".";
                }
            }
            if (!read) {
                unread += std::string(one->name) + ":" + std::to_string(key.line) + " " + std::string(key.key) + "\n";
            }
        }
    }
    INFO(unread);
    CHECK(unread == "");
}
