// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/from_nlohmann.hpp>
#include <floptally/config/detail/read.hpp>

#include "catch2.hpp"

/// @file
/// Which ways through the specs of the library the configs of a test take.

/// All specs of the library, those of sides too, which a test may change.
inline std::vector<floptally::detail::specs::spec*> all_specs(floptally::detail::specs::library& from) {
    namespace specs = floptally::detail::specs;
    std::vector<specs::spec*> all;
    for (const std::string_view text : specs::model_specs) {
        for (std::size_t at = text.find("\nspec "); at != std::string_view::npos; at = text.find("\nspec ", at + 1)) {
            const std::string_view rest = text.substr(at + 6);
            // The library owns its specs and hands them out to be read.
            all.push_back(const_cast<specs::spec*>(&from.find(rest.substr(0, rest.find_first_of(" \n")))));
        }
    }
    return all;
}

/// Ways that a spec can go: of a choice, of a condition, of both sides of `and` and `or`, of a `require` or a note, and
/// lines that are asked for. Each not taken yet is poisoned: an unknown name, whose line is a number of its own, so
/// that the error of a config that takes it says which it is.
class spec_coverage {
  public:
    using spec = floptally::detail::specs::spec;
    using spec_condition = floptally::detail::specs::spec_condition;
    using op = floptally::detail::specs::op;

    struct way {
        spec* of;
        std::size_t operand;
        std::size_t instead;
        unsigned line;
        std::string how;
        const spec_condition* condition =
            nullptr;        ///< that it is a way of: a refusal, a note, or what one asks on the way
        bool says = false;  ///< and then its text is the error, or a note
        bool taken = false;
        /// "qwen2:13 ? no"
        [[nodiscard]] std::string name() const {
            return std::string(of->name) + ":" + std::to_string(line) + " " + how;
        }
    };
    /// The result of reading a config: an error, or notes.
    struct outcome {
        std::string field;
        std::string problem;
        std::vector<std::string> notes;
        std::vector<const way*> taken;  ///< for the first time
    };

    explicit spec_coverage(floptally::detail::specs::library& book) : book_(book), all_(all_specs(book)) {
        namespace specs = floptally::detail::specs;
        for (spec* item : all_) {
            const std::size_t written = item->expressions.size();
            std::vector<const spec_condition*> condition_of(written);
            for (const spec_condition& condition : item->conditions) {
                if (!condition.is_note) {
                    mark(*item, condition.holds, condition, condition_of);
                }
            }
            for (std::size_t k = 0; k < written; ++k) {
                const specs::expression e = item->expressions[k];
                const bool is_and = e.operation == op::both;
                condition_ = condition_of[k];
                if (e.operation == op::choose) {
                    poison(*item, e.first + 1, e.line, "? yes");
                    poison(*item, e.first + 2, e.line, "? no");
                } else if (e.operation == op::or_null) {
                    poison(*item, e.first + 1, e.line, "?? null");
                } else if (is_and || e.operation == op::either) {
                    for (const std::size_t side : {e.first, e.first + 1}) {  // both_ways adds operands
                        const char* const how = is_and ? (side == e.first ? "left and" : "and right")
                                                       : (side == e.first ? "left or" : "or right");
                        const std::size_t made = both_ways(*item, item->operands[side], e.line, how);
                        item->operands[side] = made;
                    }
                }
            }
            condition_ = nullptr;
            for (specs::block& lines : item->blocks) {
                for (specs::part_line& line : lines.lines) {
                    if (line.condition != specs::no_expression) {
                        line.condition = both_ways(*item, line.condition, line.line, "if");
                    } else if (line.part != "text" && line.part != "note" && line.part != "as") {
                        line.condition = always(*item, line.line);
                        poison(*item, item->expressions[line.condition].first + 1, line.line, "line");
                    }
                }
            }
            for (spec_condition& condition : item->conditions) {
                if (item->expressions[condition.holds].operation != op::flag) {  // `note yes: …`
                    condition_ = &condition;
                    condition.holds =
                        both_ways(*item, condition.holds, condition.line, condition.is_note ? "note" : "require");
                    way& yes = ways_[ways_.size() - 2];
                    yes.says = condition.is_note;
                    yes.condition =
                        condition.is_note ? &condition : nullptr;  // that it may hold, a model that runs has to show
                    ways_.back().says = !condition.is_note;
                    condition_ = nullptr;
                }
            }
        }
    }

    /// Reads a config until no way is new to it.
    outcome walk(const nlohmann::json& config) {
        namespace specs = floptally::detail::specs;
        const specs::config_tree tree = specs::tree_of(config);
        outcome seen;
        for (;;) {
            try {
                seen.notes = specs::read_specs(tree, {}, book_).notes;
                return seen;
            } catch (const floptally::error& problem) {
                const std::string field(problem.field());
                const std::size_t colon = field.starts_with("spec ") ? field.rfind(':') : std::string::npos;
                const unsigned long line = colon == std::string::npos ? 0 : std::stoul(field.substr(colon + 1));
                if (line < first_line) {
                    seen.field = field;
                    seen.problem = problem.problem();
                    return seen;
                }
                way& found = ways_[line - first_line];
                REQUIRE_FALSE(found.taken);
                found.of->operands[found.operand] = found.instead;
                found.taken = true;
                seen.taken.push_back(&found);
            }
        }
    }

    [[nodiscard]] const std::vector<spec*>& all() const { return all_; }
    [[nodiscard]] const std::vector<way>& ways() const { return ways_; }

  private:
    static constexpr unsigned first_line = 1'000'000;

    /// The expressions that a condition is made of.
    static void mark(const spec& known_spec, std::size_t root, const spec_condition& condition,
                     std::vector<const spec_condition*>& into) {
        into[root] = &condition;
        const floptally::detail::specs::expression& e = known_spec.expressions[root];
        for (std::size_t k = 0; k < e.count; ++k) {
            mark(known_spec, known_spec.operands[e.first + k], condition, into);
        }
    }
    void poison(spec& in, std::size_t operand, unsigned line, std::string how) {
        ways_.push_back({&in, operand, in.operands[operand], line, std::move(how), condition_});
        floptally::detail::specs::expression unheard{.operation = op::name,
                                                     .line = static_cast<unsigned>(first_line + ways_.size() - 1)};
        unheard.text = "a way that no config took";
        in.operands[operand] = in.expressions.size();
        in.expressions.push_back(unheard);
    }
    /// `yes ? yes : yes`, so that it can be seen whether a line was asked for.
    [[nodiscard]] static std::size_t always(spec& in, unsigned line) {
        in.expressions.push_back({.operation = op::flag, .line = line, .number = 1});
        const std::size_t first = in.operands.size();
        in.operands.resize(first + 3, in.expressions.size() - 1);
        in.expressions.push_back({.operation = op::choose, .line = line, .first = first, .count = 3});
        return in.expressions.size() - 1;
    }
    /// `condition ? yes : no`, so that it can be seen which it was.
    [[nodiscard]] std::size_t both_ways(spec& in, std::size_t condition, unsigned line, const std::string& where) {
        const auto flag = [&](std::int64_t on) {
            in.expressions.push_back({.operation = op::flag, .line = line, .number = on});
            return in.expressions.size() - 1;
        };
        const std::size_t first = in.operands.size();
        in.operands.push_back(condition);
        in.operands.push_back(flag(1));
        in.operands.push_back(flag(0));
        in.expressions.push_back({.operation = op::choose, .line = line, .first = first, .count = 3});
        const std::size_t result = in.expressions.size() - 1;
        poison(in, first + 1, line, where + " yes");
        poison(in, first + 2, line, where + " no");
        return result;
    }

    floptally::detail::specs::library& book_;
    std::vector<spec*> all_;
    std::vector<way> ways_;
    const spec_condition* condition_ = nullptr;
};
