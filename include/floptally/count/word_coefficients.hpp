// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/tally_words.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/detail/counted_row.hpp>
#include <floptally/count/detail/word_table.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The rows of a cost over words of a tally, as a convention and a plan count them.

namespace floptally::detail {

/// Coefficients of a tally's words, from the rows of a cost as a convention and a plan count them: the content of a
/// `flop_counter`.
class word_coefficients {
  public:
    /// Forward FLOPs of one component per unit of one word of a tally.
    struct entry {
        std::uint32_t word;
        std::uint64_t useful;
        std::uint64_t padded;
    };

    /// Entries first … last − 1, which are of one component and one set of passes.
    struct group {
        std::uint32_t component;
        bool continues;  ///< the group before is of the same component
        passes run;
        std::uint32_t first;
        std::uint32_t last;
    };

  private:  // next, since clang evaluates templates in constant expressions only where they stand above their use
    /// Adds all rows of one component that have the passes of row `first`; none where an earlier row has them.
    constexpr void add_planned(const plan_walk& walk, const planned_row& first, const convention& how,
                               const attention_context& context) {
        for (const planned_row& one : walk.rows) {
            if (one.component != first.component || !(one.run == first.run)) {
                continue;
            }
            if (&one < &first) {
                return;
            }
            const rule attends = has_rule(one.row.what) ? walk.masks[one.row.mask] : rule{};
            add(walk.components[one.component], attends, one.row, one.run, how, context);
        }
    }

    /// Calls `at(word, times, divisor)` for each word of one rule: the moments that it follows from, or its own.
    template <class At>
    constexpr void add_counted(const rule& what, std::uint64_t divisor, At at) {
        const moment_form form = what.moments();
        if (!form.exists) {
            const std::size_t index = masks.find_or_add(what.canonical(), "masks");
            at(tally_words::before_masks(masks) + index, 1, divisor);
            return;
        }
        const auto moment = [&](statistic which, std::uint64_t times, std::uint64_t parts) {
            if (times != 0) {
                at(tally_words::index_of(what.in(), which), times, parts);
            }
        };
        moment(statistic::squares, form.half_squares, 2 * divisor);
        moment(statistic::tokens, form.half_tokens, 2 * divisor);
        moment(statistic::cached, form.cached, divisor);
        moment(statistic::crossed, form.crossed, divisor);
        moment(statistic::count, form.count, divisor);
        moment(statistic::keys, form.keys, divisor);
        moment(statistic::routed, form.routed, divisor);
    }

    /// The kinds of a component's rows that the convention counts.
    [[nodiscard]] static constexpr term_set counted_kinds(const cost& model, std::size_t component,
                                                          const convention& how) {
        term_set kinds;
        for (const cost_row& row : model.rows()) {
            if (row.component == component && how.counted.contains(row.kind)) {
                kinds = kinds.with(row.kind);
            }
        }
        return kinds;
    }

    /// Adds a row, with words of a tally in place of its mask, as the convention counts it.
    constexpr void add(const component_name& name, const rule& attends, const cost_row& row, const passes& run,
                       const convention& how, const attention_context& context) {
        const auto component = static_cast<std::uint32_t>(names.find_or_add(name, "components"));
        const bool known = !groups.empty() && groups.back().component == component;
        if (!known || !(groups.back().run == run)) {
            const auto end = static_cast<std::uint32_t>(entries.size());
            groups.push_back(group{component, known, run, end, end}, "rows");
        }
        const auto at = [&](std::size_t word, std::uint64_t times, std::uint64_t divisor) {
            const std::uint64_t useful = checked(row.useful, "cost") * times;
            const std::uint64_t padded = checked(row.padded, "cost") * times;
            if (useful % divisor != 0 || padded % divisor != 0) {
                throw error("convention", "half of an odd number of FLOPs per pair: the softmax of oddly many heads");
            }
            entry& e = entry_of(groups.back(), static_cast<std::uint32_t>(word));
            e.useful = checked(e.useful, "cost") + useful / divisor;
            e.padded = checked(e.padded, "cost") + padded / divisor;
        };
        if (row.what == statistic::pairs) {
            needs.words = needs.words || (row.useful != 0 && attends.is_measured());
            attention_context here = context;
            here.of_indexer = is_index_pairs(row.kind);
            for (const auto& [what, divisor] : how.pairs(attends, how, here)) {
                add_counted(what.in() == attends.in() ? what : what.in(attends.in()), divisor, at);
            }
            return;
        }
        if (row.what == statistic::routed) {
            add_counted(attends, 1, at);
            needs.routed = needs.routed || (row.useful != 0 && attends.is_polynomial());
            needs.words = needs.words || (row.useful != 0 && !attends.is_polynomial());
            return;
        }
        at(tally_words::index_of(row.in, row.what), 1, 1);
    }

    /// The entry of a word in the last group, added where there is none.
    constexpr entry& entry_of(group& last, std::uint32_t word) {
        for (std::size_t i = last.first; i < last.last; ++i) {
            if (entries[i].word == word) {
                return entries[i];
            }
        }
        ++last.last;
        return entries.push_back(entry{word, 0, 0}, "rows");
    }

  public:
    /// Adds the rows of a cost where everything trains, kind by kind, so that those with equal passes stand together.
    constexpr void add_rows(const cost& model, const convention& how, const training_plan& plan) {
        check_repeated(model, plan);
        const attention_context context = context_of(model);
        for (std::size_t component = 0; component < model.components().size(); ++component) {
            const component_name& name = model.components()[component];
            const bool named = plan.recomputed_components.find(name) < plan.recomputed_components.size();
            const term_set kinds = counted_kinds(model, component, how);
            for (std::size_t kind = 0; kind < term_count; ++kind) {
                if (!kinds.contains(static_cast<term>(kind))) {
                    continue;
                }
                for (const cost_row& row : model.rows()) {
                    if (row.component == component && row.kind == static_cast<term>(kind)) {
                        const bool again = named || is_recomputed(row.kind, plan);
                        const rule attends = has_rule(row.what) ? model.masks()[row.mask] : rule{};
                        const std::uint32_t ranks = ranks_of(plan, name.view(), model.weight_name(row));
                        add(name, attends, counted_row(model, row, how), passes_of(row, how, plan, again).on(ranks),
                            how, context);
                    }
                }
            }
        }
    }

    /// Adds the rows of a model's parts as the plan trains them (plan_walk.hpp).
    constexpr void add_planned(array_view<model_part> parts, const cost& model, const convention& how,
                               const training_plan& plan) {
        check_repeated(model, plan);
        const plan_walk walk(parts, model, how, plan);
        is_upper_bound = walk.is_upper_bound;
        const attention_context context = context_of(model);
        for (std::size_t component = 0; component < walk.components.size(); ++component) {
            for (const planned_row& row : walk.rows) {
                if (row.component == component) {
                    add_planned(walk, row, how, context);
                }
            }
        }
    }

    /// Adds the words that no row counts and that the model keeps (`cost::keep`), after those that are counted.
    constexpr void keep(const cost& model) {
        needs.counted = needs.counted < masks.size() ? needs.counted : masks.size();
        for (std::size_t i = 0; i < model.masks().size(); ++i) {
            bool counted = model.masks()[i].is_polynomial();
            for (const cost_row& row : model.rows()) {
                counted = counted || (has_rule(row.what) && row.mask == i);
            }
            if (!counted) {
                masks.find_or_add(model.masks()[i].canonical(), "masks");
            }
        }
    }

    mask_set masks;  ///< those whose words are counted, and those that are kept
    measured_needs needs;
    bool is_upper_bound = false;
    cost::component_list names;
    list<group> groups;
    list<entry> entries;
};

}  // namespace floptally::detail
