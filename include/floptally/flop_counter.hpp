// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <floptally/batch/mask_set.hpp>
#include <floptally/breakdown.hpp>
#include <floptally/convention.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/counted_row.hpp>
#include <floptally/detail/list.hpp>
#include <floptally/detail/plan_walk.hpp>
#include <floptally/detail/unit_amounts.hpp>
#include <floptally/detail/word_table.hpp>
#include <floptally/error.hpp>
#include <floptally/flops.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/statistic_rule.hpp>
#include <floptally/tally.hpp>
#include <floptally/training_plan.hpp>

namespace floptally {

/// A cost under one convention and one plan, reduced to coefficients of a tally's words: the row vector of the dot
/// product. Build it once, evaluate it every step.
///
/// Why evaluation needs no overflow check: building it checks that all coefficients together fit 64 bits, and every
/// word does, so that any sum of products stays below 2^128.
class flop_counter {
  public:
    constexpr explicit flop_counter(const cost& model, const convention& how = conventions::exact,
                                    const training_plan& plan = {})
        : how_(how) {
        masks_ = mask_set::of_towers(model.masks());
        if (plan.needs_parts()) {
            model_part whole{.name = "model", .role = part_role::anywhere, .cost = model};
            add_planned({&whole, 1}, model, plan);
        } else {
            add_rows(model, plan);
        }
        add_totals();
    }

    /// The same with a plan that may treat each layer in its own way: exact where a cost alone can only assume that a
    /// gradient must reach its first layer.
    constexpr explicit flop_counter(std::span<const model_part> stages, const convention& how = conventions::exact,
                                    const training_plan& plan = {})
        : how_(how) {
        const cost model = cost_of(stages);
        masks_ = mask_set::of_towers(model.masks());
        add_planned(stages, model, plan);
        add_totals();
    }

    /// The masks whose pairs a tally must keep for this cost.
    [[nodiscard]] constexpr const mask_set& masks() const { return masks_; }
    [[nodiscard]] constexpr const convention& counted_as() const { return how_; }
    /// What each word of a tally with these masks is worth, all components and phases together.
    [[nodiscard]] constexpr std::span<const std::uint64_t> coefficients(view seen) const {
        const std::size_t words = totals_.size() / 3;
        return {totals_.begin() + words * static_cast<std::size_t>(seen), words};
    }
    /// Whether experts are counted by visits, which a tally with tokens must then have.
    [[nodiscard]] constexpr bool needs_routed() const { return needs_.routed; }
    /// Whether other measured words are counted (`measured(name)`).
    [[nodiscard]] constexpr bool needs_measured_words() const { return needs_.words; }
    /// Whether less may run than is counted (see `breakdown::is_upper_bound`): the plan treats parts differently, and
    /// one of them does not say what its rows read, or there is nothing but a cost.
    [[nodiscard]] constexpr bool is_upper_bound() const { return is_upper_bound_; }

    /// Component x phase x view of a batch.
    [[nodiscard]] constexpr breakdown evaluate(const tally& batch) const {
        breakdown result;
        evaluate(batch, result);
        return result;
    }

    /// The same into a breakdown of the caller, in its memory: what a loop that wants one every step calls. Where it is
    /// an error, `into` has not changed.
    constexpr void evaluate(const tally& batch, breakdown& into) const {
        const detail::word_table words(masks_, needs_, batch);
        into.clear(names_.size());
        into.mark_upper_bound(is_upper_bound_);
        component_flops* work = nullptr;
        for (const group& g : groups_) {
            // Sums in locals: g++ 12 spends three times as long where they are reached through a reference.
            uint128 useful = 0;
            uint128 padded = 0;
            for (std::size_t i = g.first; i < g.last; ++i) {
                const entry& e = entries_[i];
                useful += uint128{words.useful[e.word]} * e.useful;
                padded += uint128{words.padded[e.word]} * e.padded;
            }
            if (!g.continues) {
                work = &into.append_unset(names_[g.component]);
            }
            const auto put = [&g](uint128& sum, std::uint8_t n, uint128 amount) {
                sum = g.continues ? sum + times(n, amount) : times(n, amount);
            };
            put(work->useful[0], g.run.forward, useful);
            put(work->useful[1], g.run.backward_data, useful);
            put(work->useful[2], g.run.backward_weights, useful);
            put(work->padded[0], g.run.forward, padded);
            put(work->padded[1], g.run.backward_data, padded);
            put(work->padded[2], g.run.backward_weights, padded);
            put(work->fused_backward, g.run.fused_backward, padded);
            put(work->recomputed_forward, g.run.recomputed_forward, padded);
        }
    }

    /// One sum over all components and phases; cheaper than `evaluate(batch).total(seen)` and equal to it.
    [[nodiscard]] constexpr flops total(const tally& batch, view seen = view::useful) const {
        const detail::word_table words(masks_, needs_, batch);
        const std::uint64_t* values = seen == view::useful ? words.useful : words.padded;
        uint128 sum = 0;
        for (const std::uint64_t coefficient : coefficients(seen)) {
            sum += uint128{*values++} * coefficient;
        }
        return flops{sum};
    }

    /// The work of one sequence: what balancing samples over ranks compares. Over a batch it adds up to `total`.
    [[nodiscard]] constexpr flops total(const sequence& sample, view seen = view::useful) const {
        detail::require_modality(masks_, modality::text, "length");
        detail::check_sequence(sample);
        if (needs_.routed && sample.length != 0) {
            detail::word_table::refuse_unrouted();
        }
        const std::span<const std::uint64_t> of_word = coefficients(seen);
        uint128 sum = 0;
        for (std::size_t what = 0; what < detail::tally_words::fixed; ++what) {
            sum += detail::amount_of(static_cast<statistic>(what), sample) * of_word[what];
        }
        const std::uint64_t* of_mask = of_word.data() + detail::tally_words::before_masks(masks_);
        for (const rule& m : masks_) {
            if (m.is_measured() && needs_.words && sample.length != 0) {
                detail::word_table::refuse_unmeasured(m);
            }
            sum += (m.in() == modality::text ? detail::amount_of(m, sample) : 0) * *of_mask++;
        }
        return flops{sum};
    }

  private:
    using passes = detail::passes;

    /// Forward FLOPs of one component per unit of one word of a tally.
    struct entry {
        std::uint32_t word;
        std::uint64_t useful;
        std::uint64_t padded;
    };

    /// Entries that stand together: one component, one set of passes.
    struct group {
        std::uint32_t component;
        bool continues;  ///< the group before is of the same component
        passes run;
        std::uint32_t first;
        std::uint32_t last;
    };

    /// n · work; n is mostly 0 or 1, and a branch costs less than a 128-bit product.
    [[nodiscard]] static constexpr uint128 times(std::uint8_t n, uint128 work) {
        return n == 1 ? work : n == 0 ? 0 : n * work;
    }

    /// Everything trains: the rows of a cost, kind by kind, so that those with equal passes stand together.
    constexpr void add_rows(const cost& model, const training_plan& plan) {
        const attention_context context = detail::context_of(model);
        for (std::size_t component = 0; component < model.components().size(); ++component) {
            const component_name& name = model.components()[component];
            const bool named = plan.recomputed_components.find(name) < plan.recomputed_components.size();
            for (std::size_t kind = 0; kind < term_count; ++kind) {
                for (const cost_row& row : model.rows()) {
                    if (row.component == component && row.kind == static_cast<term>(kind) &&
                        how_.counted.contains(row.kind)) {
                        const bool again = named || detail::is_recomputed(row.kind, plan);
                        const rule attends = has_rule(row.what) ? model.masks()[row.mask] : rule{};
                        add(name, attends, detail::counted_row(model, row, how_),
                            detail::passes_of(row.kind, how_, plan, again), context);
                    }
                }
            }
        }
    }

    constexpr void add_planned(std::span<const model_part> stages, const cost& model, const training_plan& plan) {
        const detail::plan_walk walk(stages, model, how_, plan);
        is_upper_bound_ = walk.is_upper_bound;
        const attention_context context = detail::context_of(model);
        for (std::size_t component = 0; component < walk.components.size(); ++component) {
            for (std::size_t first = 0; first < walk.rows.size(); ++first) {
                if (walk.rows[first].component == component) {
                    add_planned(walk, first, context);
                }
            }
        }
    }

    /// All rows of one component with the passes of the first of them; nothing where another came before it.
    constexpr void add_planned(const detail::plan_walk& walk, std::size_t first, const attention_context& context) {
        for (std::size_t i = 0; i < walk.rows.size(); ++i) {
            const auto& [component, row, run] = walk.rows[i];
            if (component != walk.rows[first].component || !(run == walk.rows[first].run)) {
                continue;
            }
            if (i < first) {
                return;
            }
            const rule attends = has_rule(row.what) ? walk.masks[row.mask] : rule{};
            add(walk.components[component], attends, row, run, context);
        }
    }

    constexpr void add_totals() {
        const std::size_t words = detail::tally_words::before_masks(masks_) + masks_.size();
        totals_.fill(3 * words, 0);
        std::uint64_t sum = 0;
        for (const group& g : groups_) {
            const std::uint64_t runs = std::uint64_t{g.run.forward} + g.run.backward_data + g.run.backward_weights;
            for (std::size_t i = g.first; i < g.last; ++i) {
                const auto include = [&](view seen, std::uint64_t coefficient, std::uint64_t times) {
                    const std::uint64_t product = checked_multiply(coefficient, times, "cost");
                    sum = checked_add(sum, product, "cost");
                    totals_[words * static_cast<std::size_t>(seen) + entries_[i].word] += product;
                };
                include(view::useful, entries_[i].useful, runs);
                include(view::padded, entries_[i].padded, runs);
                include(view::executed, entries_[i].padded, runs + g.run.fused_backward + g.run.recomputed_forward);
            }
        }
    }

    /// The words of one statistic: the moments that it follows from, or its own.
    template <class At>
    constexpr void add_counted(const rule& what, std::uint64_t divisor, At at) {
        const moment_form form = what.moments();
        if (!form.exists) {
            const std::size_t index = masks_.find_or_add(what.canonical(), "masks");
            at(detail::tally_words::before_masks(masks_) + index, 1, divisor);
            return;
        }
        const auto moment = [&](statistic which, std::uint64_t times, std::uint64_t of) {
            if (times != 0) {
                at(detail::tally_words::index_of(what.in(), which), times, of);
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

    /// Replaces the mask of a row by words of a tally, as the convention counts it.
    constexpr void add(const component_name& name, const rule& attends, const cost_row& row, const passes& run,
                       const attention_context& context) {
        const auto component = static_cast<std::uint32_t>(names_.find_or_add(name, "components"));
        const bool known = !groups_.empty() && groups_.back().component == component;
        if (!known || !(groups_.back().run == run)) {
            const auto end = static_cast<std::uint32_t>(entries_.size());
            groups_.push_back(group{component, known, run, end, end}, "rows");
        }
        const auto at = [&](std::size_t word, std::uint64_t times, std::uint64_t divisor) {
            const std::uint64_t useful = checked_multiply(row.useful, times, "cost");
            const std::uint64_t padded = checked_multiply(row.padded, times, "cost");
            if (useful % divisor != 0 || padded % divisor != 0) {
                throw error("convention", "half of an odd number of FLOPs per pair: the softmax of oddly many heads");
            }
            entry& e = entry_of(groups_.back(), static_cast<std::uint32_t>(word));
            e.useful = checked_add(e.useful, useful / divisor, "cost");
            e.padded = checked_add(e.padded, padded / divisor, "cost");
        };
        if (row.what == statistic::pairs) {
            for (const auto& [what, divisor] : how_.pairs(attends, how_, context)) {
                add_counted(what.in() == attends.in() ? what : what.in(attends.in()), divisor, at);
            }
            return;
        }
        if (row.what == statistic::routed) {
            add_counted(attends, 1, at);
            needs_.routed = needs_.routed || (row.useful != 0 && attends.is_polynomial());
            needs_.words = needs_.words || (row.useful != 0 && !attends.is_polynomial());
            return;
        }
        at(detail::tally_words::index_of(row.in, row.what), 1, 1);
    }

    constexpr entry& entry_of(group& last, std::uint32_t word) {
        for (std::size_t i = last.first; i < last.last; ++i) {
            if (entries_[i].word == word) {
                return entries_[i];
            }
        }
        ++last.last;
        return entries_.push_back(entry{word, 0, 0}, "rows");
    }

    convention how_;
    mask_set masks_;
    detail::measured_needs needs_;
    bool is_upper_bound_ = false;
    cost::component_list names_;
    detail::list<group> groups_;
    detail::list<entry> entries_;
    detail::list<std::uint64_t> totals_;  ///< useful, padded, executed: a coefficient for each word
};

/// FLOPs of a batch: the dot product of a cost and a tally. To evaluate every step, keep a `flop_counter`.
[[nodiscard]] constexpr breakdown evaluate(const cost& model, const tally& batch,
                                           const convention& how = conventions::exact, const training_plan& plan = {}) {
    return flop_counter(model, how, plan).evaluate(batch);
}

/// The same of a model's stages.
[[nodiscard]] constexpr breakdown evaluate(std::span<const model_part> stages, const tally& batch,
                                           const convention& how = conventions::exact, const training_plan& plan = {}) {
    return flop_counter(stages, how, plan).evaluate(batch);
}

}  // namespace floptally
