// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/tally.hpp>
#include <floptally/batch/unit_amounts.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/detail/word_table.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/count/word_coefficients.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A cost under a convention and a plan, ready to evaluate every step; `evaluate` does all at once.

namespace floptally {

/// A cost under one convention and one plan, reduced to coefficients of a tally's words: the row vector of the dot
/// product. Build it once, evaluate it every step.
///
/// Why evaluation needs no overflow check: building it checks that all coefficients together fit 64 bits, and every
/// word does, so that any sum of products stays below 2^128.
class flop_counter {
  public:
    /// Counts a cost. A plan with weight settings may make it an upper bound (`is_upper_bound`), since a cost alone
    /// does not say where its parts stand.
    constexpr explicit flop_counter(const cost& model, const convention& how = conventions::exact,
                                    const training_plan& plan = {})
        : how_(how) {
        count(model, plan);
    }

    /// Counts the parts of a model, layer by layer where the plan treats layers in ways of their own: exact where a
    /// cost alone can only assume that a gradient must reach its first layer.
    constexpr explicit flop_counter(const detail::array_view<model_part>& parts,
                                    const convention& how = conventions::exact, const training_plan& plan = {})
        : how_(how) {
        count(parts, plan);
    }

    /// Counts a descriptor. Where the plan needs parts (`training_plan::needs_parts`) and the descriptor lists them,
    /// they are counted, exactly; a descriptor that lists none is then an upper bound, as a cost alone is.
    template <model_descriptor Model>
    constexpr explicit flop_counter(const Model& model, const convention& how = conventions::exact,
                                    const training_plan& plan = {})
        : how_(how) {
        if constexpr (lists_parts<Model>) {
            if (plan.needs_parts()) {
                count(parts_of(model), plan);
                return;
            }
        }
        count(static_cast<const cost&>(model.cost()), plan);
    }

    /// Counts a value that has its cost and its parts as members: a `model_config`.
    template <model_record Model>
    constexpr explicit flop_counter(const Model& model, const convention& how = conventions::exact,
                                    const training_plan& plan = {})
        : how_(how) {
        const detail::array_view<model_part> parts = model.parts;
        if (plan.needs_parts() && !parts.empty()) {
            count(parts, plan, static_cast<const cost&>(model.cost));
        } else {
            count(static_cast<const cost&>(model.cost), plan);
        }
    }

    /// The masks whose pairs a tally must keep for this cost.
    [[nodiscard]] constexpr const mask_set& masks() const { return counted_.masks; }
    /// The convention that this counts by.
    [[nodiscard]] constexpr const convention& counted_as() const { return how_; }
    /// The coefficient of each word of a tally with these masks, in FLOPs: all components and phases together.
    [[nodiscard]] constexpr detail::array_view<std::uint64_t> coefficients(view seen) const {
        return {of(seen), words()};
    }
    /// The coefficients by component and set of passes, of which `evaluate` makes a breakdown.
    [[nodiscard]] constexpr const detail::word_coefficients& by_component() const { return counted_; }
    /// True where experts are counted by visits, which a tally with tokens must then have.
    [[nodiscard]] constexpr bool needs_routed() const { return counted_.needs.routed; }
    /// True where other measured words are counted (`measured(name)`).
    [[nodiscard]] constexpr bool needs_measured_words() const { return counted_.needs.words; }
    /// True where less may run than is counted (see `breakdown::is_upper_bound`): the plan treats parts differently,
    /// and one of them does not say what its rows read, or only a cost is given.
    [[nodiscard]] constexpr bool is_upper_bound() const { return counted_.is_upper_bound; }

    /// The FLOPs of a batch by component, phase and view. A tally without the measured words that are counted is an
    /// error.
    [[nodiscard]] constexpr breakdown evaluate(const tally& batch) const {
        breakdown result;
        evaluate(batch, result);
        return result;
    }

    /// Evaluates into a breakdown of the caller, in its memory, for a loop that wants one every step. An error leaves
    /// `into` as it was.
    constexpr void evaluate(const tally& batch, breakdown& into) const {
        const detail::word_table words(counted_.masks, counted_.needs, batch);
        into.clear(counted_.names.size());
        into.mark_upper_bound(counted_.is_upper_bound);
        component_flops* work = nullptr;
        for (const detail::word_coefficients::group& g : counted_.groups) {
            // Sums in locals: g++ 12 spends three times as long where they are reached through a reference.
            uint128 useful = 0;
            uint128 padded = 0;
            for (std::size_t i = g.first; i < g.last; ++i) {
                const detail::word_coefficients::entry& e = counted_.entries[i];
                useful += uint128{words.useful[e.word]} * e.useful;
                padded += uint128{words.padded[e.word]} * e.padded;
            }
            if (!g.continues) {
                work = &into.append_unset(counted_.names[g.component]);
            }
            const auto put = [&g](uint128& sum, std::uint32_t n, uint128 amount) {
                sum = g.continues ? sum + times(n, amount) : times(n, amount);
            };
            put(work->useful[0], g.run.forward, useful);
            put(work->useful[1], g.run.backward_data, useful);
            put(work->useful[2], g.run.backward_weights, useful);
            put(work->padded[0], g.run.forward, padded);
            put(work->padded[1], g.run.backward_data, padded);
            put(work->padded[2], g.run.backward_weights, padded);
            put(work->executed_more[0], g.run.executed_more[0], padded);
            put(work->executed_more[1], g.run.executed_more[1], padded);
            put(work->executed_more[2], g.run.executed_more[2], padded);
            put(work->recomputed_forward, g.run.recomputed_forward, padded);
        }
    }

    /// The FLOPs of a batch, all components and phases together; cheaper than `evaluate(batch).total(seen)` and equal
    /// to it.
    [[nodiscard]] constexpr flops total(const tally& batch, view seen = view::useful) const {
        const detail::word_table words(counted_.masks, counted_.needs, batch);
        const std::uint64_t* values = seen == view::useful ? words.useful : words.padded;
        uint128 sum = 0;
        for (const std::uint64_t *coefficient = of(seen), *end = coefficient + this->words(); coefficient != end;) {
            sum += uint128{*values++} * *coefficient++;
        }
        return flops{sum};
    }

    /// The FLOPs of one sequence, by which balancing compares samples. Over a batch they add up to its `total`.
    [[nodiscard]] constexpr flops total(const sequence& sample, view seen = view::useful) const {
        detail::require_modality(counted_.masks, modality::text, "length");
        detail::check_sequence(sample);
        if (counted_.needs.routed && sample.length != 0) {
            detail::word_table::refuse_unrouted();
        }
        const std::uint64_t* const of_word = of(seen);
        uint128 sum = 0;
        for (std::size_t what = 0; what < detail::tally_words::fixed; ++what) {
            sum += detail::amount_of(static_cast<statistic>(what), sample) * of_word[what];
        }
        const std::uint64_t* of_mask = of_word + detail::tally_words::before_masks(counted_.masks);
        for (std::size_t i = 0; i < counted_.needs.counted; ++i) {
            const rule& m = counted_.masks[i];
            if (m.is_measured() && m.in() == modality::text && counted_.needs.words && sample.length != 0) {
                detail::word_table::refuse_unmeasured(m);
            }
            sum += (m.in() == modality::text ? detail::amount_of(m, sample) : 0) * *of_mask++;
        }
        return flops{sum};
    }

  private:
    [[nodiscard]] constexpr std::size_t words() const { return totals_.size() / 3; }
    [[nodiscard]] constexpr const std::uint64_t* of(view seen) const {
        return totals_.begin() + words() * static_cast<std::size_t>(seen);
    }

    constexpr void count(const cost& model, const training_plan& plan) {
        if (plan.logits == logit_tokens::all) {
            fold(model, plan);
        } else {
            fold(with_logits(model, plan.logits), plan);
        }
    }

    constexpr void count(const detail::array_view<model_part>& parts, const training_plan& plan,
                         const cost& whole = {}) {
        if (plan.logits == logit_tokens::all) {
            fold(parts, plan, whole);
        } else {
            fold(with_logits(parts, plan.logits), plan, whole);
        }
    }

    constexpr void fold(const cost& model, const training_plan& plan) {
        counted_.masks = mask_set::of_towers(model.masks());
        if (plan.needs_parts()) {
            model_part whole{.name = "model", .role = part_role::anywhere, .cost = model};
            counted_.add_planned({&whole, 1}, model, how_, plan);
        } else {
            counted_.add_rows(model, how_, plan);
        }
        counted_.keep(model);
        add_totals();
    }

    constexpr void fold(const detail::array_view<model_part>& parts, const training_plan& plan, const cost& whole) {
        const cost model = cost_of(parts);
        counted_.masks = mask_set::of_towers(model.masks());
        counted_.add_planned(parts, model, how_, plan);
        counted_.keep(model);
        counted_.keep(whole);
        add_totals();
    }

    /// n · work; n is mostly 0 or 1, and a branch costs less than a 128-bit product.
    [[nodiscard]] static constexpr uint128 times(std::uint32_t n, uint128 work) {
        return n == 1 ? work : n == 0 ? 0 : n * work;
    }

    constexpr void add_totals() {
        const std::size_t words = detail::tally_words::before_masks(counted_.masks) + counted_.masks.size();
        totals_.fill(3 * words, 0);
        checked sum(0, "cost");
        for (const detail::word_coefficients::group& g : counted_.groups) {
            const std::uint64_t runs = std::uint64_t{g.run.forward} + g.run.backward_data + g.run.backward_weights;
            for (std::size_t i = g.first; i < g.last; ++i) {
                const auto include = [&](view seen, std::uint64_t coefficient, std::uint64_t times) {
                    const std::uint64_t product = checked(coefficient, "cost") * times;
                    sum += product;
                    totals_[words * static_cast<std::size_t>(seen) + counted_.entries[i].word] += product;
                };
                include(view::useful, counted_.entries[i].useful, runs);
                include(view::padded, counted_.entries[i].padded, runs);
                include(view::executed, counted_.entries[i].padded,
                        runs + g.run.executed_more[0] + g.run.executed_more[1] + g.run.executed_more[2] +
                            g.run.recomputed_forward);
            }
        }
    }

    convention how_;
    detail::word_coefficients counted_;
    detail::list<std::uint64_t> totals_;  ///< useful, padded, executed: a coefficient for each word
};

/// FLOPs of a batch: the dot product of a cost and a tally. To evaluate every step, keep a `flop_counter`.
[[nodiscard]] constexpr breakdown evaluate(const cost& model, const tally& batch,
                                           const convention& how = conventions::exact, const training_plan& plan = {}) {
    return flop_counter(model, how, plan).evaluate(batch);
}

/// FLOPs of a batch from a model's parts.
[[nodiscard]] constexpr breakdown evaluate(const detail::array_view<model_part>& parts, const tally& batch,
                                           const convention& how = conventions::exact, const training_plan& plan = {}) {
    return flop_counter(parts, how, plan).evaluate(batch);
}

/// FLOPs of a batch from a descriptor or a config.
template <class Model>
requires model_descriptor<Model> || model_record<Model>
[[nodiscard]] constexpr breakdown evaluate(const Model& model, const tally& batch,
                                           const convention& how = conventions::exact, const training_plan& plan = {}) {
    return flop_counter(model, how, plan).evaluate(batch);
}

}  // namespace floptally
