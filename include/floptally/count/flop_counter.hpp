// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/detail/accumulator_table.hpp>
#include <floptally/count/detail/counted_entry.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `flop_counter` counts the FLOPs of batches by a cost, a convention and a plan. Build it once and evaluate it every
/// step. The free function `evaluate` builds a counter and evaluates it once.

namespace floptally::inline v0_3::detail {

// Converts the entries of a cost, under a convention and a plan, into coefficients of a tally's accumulators.

/// The coefficients of a `flop_counter`: the FLOPs for each token, pair or other amount that an accumulator of a tally
/// counts. Coefficients are grouped by component and by the passes in which the work runs.
class accumulator_coefficients {
  public:
    /// The forward FLOPs of one component for each token, pair or other amount that one accumulator of a tally counts.
    struct coefficient {
        std::uint32_t accumulator;
        std::uint64_t useful;
        std::uint64_t padded;
    };

    /// A group of coefficients: those with the indices `first` … `last` − 1. They belong to one component and to work
    /// that runs in the same passes.
    struct group {
        std::uint32_t component;
        bool continues;  ///< true if the previous group belongs to the same component
        passes run;
        std::uint32_t first;
        std::uint32_t last;
    };

    // Private members come first: clang evaluates a template in a constant expression only after its definition.
  private:
    /// Adds all entries with the same component and passes as `first`. Adds nothing if `first` is not the first entry
    /// with this component and these passes.
    constexpr void add_planned(const plan_walk& walk, const planned_entry& first, const convention& counted_as,
                               const attention_context& context) {
        for (const planned_entry& planned : walk.entries) {
            if (planned.component != first.component || !(planned.run == first.run)) {
                continue;
            }
            if (&planned < &first) {
                return;
            }
            const cost_entry& entry = planned.entry;
            const statistic attends = has_statistic(entry.what) ? walk.masks[entry.mask] : statistic{};
            add(walk.components[planned.component], attends, entry, planned.run, counted_as, context);
        }
    }

    /// Calls `at(accumulator, times, divisor)` for each accumulator from which a statistic is computed. If the
    /// statistic is a sum of moments, these are the accumulators of the moments. Otherwise it is the statistic's own
    /// accumulator.
    template <class At>
    constexpr void add_counted(const statistic& counted, std::uint64_t divisor, At at) {
        const moment_form form = counted.moments();
        if (!form.exists) {
            const std::size_t index = masks.find_or_add(counted.canonical(), "masks");
            at(tally_accumulators::before_masks(masks) + index, 1, divisor);
            return;
        }
        const auto moment = [&](accumulator which, std::uint64_t times, std::uint64_t parts) {
            if (times != 0) {
                at(tally_accumulators::index_of(counted.in(), which), times, parts);
            }
        };
        moment(accumulator::squares, form.half_squares, 2 * divisor);
        moment(accumulator::tokens, form.half_tokens, 2 * divisor);
        moment(accumulator::cached, form.cached, divisor);
        moment(accumulator::crossed, form.crossed, divisor);
        moment(accumulator::count, form.count, divisor);
        moment(accumulator::keys, form.keys, divisor);
        moment(accumulator::routed, form.routed, divisor);
    }

    /// Returns the kinds of entries that a component has and that the convention counts.
    [[nodiscard]] static constexpr term_set counted_kinds(const cost& model, std::size_t component,
                                                          const convention& counted_as) {
        term_set kinds;
        for (const cost_entry& entry : model.entries()) {
            if (entry.component == component && counted_as.counted.contains(entry.kind)) {
                kinds = kinds.with(entry.kind);
            }
        }
        return kinds;
    }

    /// Adds the FLOPs of an entry, as the convention counts them, to the coefficients of the accumulators that the
    /// entry's mask needs.
    constexpr void add(const component_name& name, const statistic& attends, const cost_entry& entry, const passes& run,
                       const convention& counted_as, const attention_context& context) {
        const auto component = static_cast<std::uint32_t>(names.find_or_add(name, "components"));
        const bool known = !groups.empty() && groups.back().component == component;
        if (!known || !(groups.back().run == run)) {
            const auto end = static_cast<std::uint32_t>(coefficients.size());
            groups.push_back(group{component, known, run, end, end}, "rows");
        }
        const auto at = [&](std::size_t accumulator, std::uint64_t times, std::uint64_t divisor) {
            const std::uint64_t useful = checked(entry.useful, "cost") * times;
            const std::uint64_t padded = checked(entry.padded, "cost") * times;
            if (useful % divisor != 0 || padded % divisor != 0) {
                throw error(
                    "convention",
                    "half of an odd number of FLOPs per pair is not an integer, as for the softmax of an odd number "
                    "of heads: leave term::softmax out of `counted`");
            }
            coefficient& sum = coefficient_of(groups.back(), static_cast<std::uint32_t>(accumulator));
            sum.useful = checked(sum.useful, "cost") + useful / divisor;
            sum.padded = checked(sum.padded, "cost") + padded / divisor;
        };
        if (entry.what == accumulator::pairs) {
            needs.accumulators = needs.accumulators || (entry.useful != 0 && attends.is_measured());
            attention_context entry_context = context;
            entry_context.of_indexer = is_index_pairs(entry.kind);
            for (const auto& [what, divisor] : counted_as.pairs(attends, counted_as, entry_context)) {
                add_counted(what.in() == attends.in() ? what : what.in(attends.in()), divisor, at);
            }
            return;
        }
        if (entry.what == accumulator::routed) {
            add_counted(attends, 1, at);
            needs.routed = needs.routed || (entry.useful != 0 && attends.is_polynomial());
            needs.accumulators = needs.accumulators || (entry.useful != 0 && !attends.is_polynomial());
            return;
        }
        at(tally_accumulators::index_of(entry.in, entry.what), 1, 1);
    }

    /// Returns the coefficient of an accumulator in the last group. Adds it if it is missing.
    constexpr coefficient& coefficient_of(group& last, std::uint32_t accumulator) {
        for (std::size_t i = last.first; i < last.last; ++i) {
            if (coefficients[i].accumulator == accumulator) {
                return coefficients[i];
            }
        }
        ++last.last;
        return coefficients.push_back(coefficient{accumulator, 0, 0}, "rows");
    }

  public:
    /// Adds the entries of a cost whose weights all train. Goes through the kinds of entries one by one, so that
    /// entries that run in the same passes share a group.
    constexpr void add_entries(const cost& model, const convention& counted_as, const training_plan& plan) {
        check_repeated(model, plan);
        const attention_context context = context_of(model);
        for (std::size_t component = 0; component < model.components().size(); ++component) {
            const component_name& name = model.components()[component];
            const bool named = plan.recomputed_components.find(name) < plan.recomputed_components.size();
            const term_set kinds = counted_kinds(model, component, counted_as);
            for (std::size_t kind = 0; kind < term_count; ++kind) {
                if (!kinds.contains(static_cast<term>(kind))) {
                    continue;
                }
                for (const cost_entry& entry : model.entries()) {
                    if (entry.component == component && entry.kind == static_cast<term>(kind)) {
                        const bool again = named || is_recomputed(entry.kind, plan);
                        const statistic attends = has_statistic(entry.what) ? model.masks()[entry.mask] : statistic{};
                        const std::uint32_t ranks = ranks_of(plan, name.view(), model.weight_name(entry));
                        add(name, attends, counted_entry(model, entry, counted_as),
                            passes_of(entry, counted_as, plan, again).on(ranks), counted_as, context);
                    }
                }
            }
        }
    }

    /// Adds the entries of a model's parts. The plan decides in which passes each entry runs (see `plan_walk`).
    constexpr void add_planned(array_view<model_part> parts, const cost& model, const convention& counted_as,
                               const training_plan& plan) {
        check_repeated(model, plan);
        const plan_walk walk(parts, model, counted_as, plan);
        is_upper_bound = walk.is_upper_bound;
        const attention_context context = context_of(model);
        for (std::size_t component = 0; component < walk.components.size(); ++component) {
            for (const planned_entry& entry : walk.entries) {
                if (entry.component == component) {
                    add_planned(walk, entry, counted_as, context);
                }
            }
        }
    }

    /// Appends the accumulators that the model asks a tally to keep (`cost::keep`) although no entry counts them.
    constexpr void keep(const cost& model) {
        needs.counted = needs.counted < masks.size() ? needs.counted : masks.size();
        for (std::size_t i = 0; i < model.masks().size(); ++i) {
            bool counted = model.masks()[i].is_polynomial();
            for (const cost_entry& entry : model.entries()) {
                counted = counted || (has_statistic(entry.what) && entry.mask == i);
            }
            if (!counted) {
                masks.find_or_add(model.masks()[i].canonical(), "masks");
            }
        }
    }

    mask_set masks;  ///< first the masks whose pairs the model counts, then those that a tally only keeps
                     ///< (`cost::keep`)
    measured_needs needs;
    bool is_upper_bound = false;
    cost::component_list names;
    list<group> groups;
    list<coefficient> coefficients;
};

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// A cost under one convention and one plan, reduced to one coefficient for each accumulator of a tally. The FLOPs of a
/// batch are the dot product of coefficients and accumulators. Build the counter once and evaluate it every step.
///
/// Evaluation needs no overflow check: the constructor checks that the sum of all coefficients fits 64 bits. Every
/// accumulator has 64 bits, so any sum of products stays below 2^128.
class flop_counter {
  public:
    // The constructors without a plan do not use the code that walks over a model's parts. So a program without a plan
    // need not compile that code.

    /// Counts a cost whose weights all train.
    constexpr explicit flop_counter(const cost& model, const convention& counted_as = conventions::exact)
        : convention_(counted_as) {
        fold(model);
    }
    /// Counts a cost under a plan. With weight settings in the plan the count may be an upper bound (`is_upper_bound`),
    /// because a cost alone does not say in which order its parts run.
    constexpr explicit flop_counter(const cost& model, const convention& counted_as, const training_plan& plan)
        : convention_(counted_as) {
        count(model, plan);
    }

    /// Counts the parts of a model layer by layer under a plan. The parts show how far back gradients flow. For a cost
    /// without parts the counter assumes that gradients reach the first layer.
    constexpr explicit flop_counter(const array_view<model_part>& parts,
                                    const convention& counted_as = conventions::exact, const training_plan& plan = {})
        : convention_(counted_as) {
        count(parts, plan);
    }

    /// Counts a descriptor whose weights all train.
    template <model_descriptor Model>
    constexpr explicit flop_counter(const Model& model, const convention& counted_as = conventions::exact)
        : convention_(counted_as) {
        fold(static_cast<const cost&>(model.cost()));
    }
    /// Counts a descriptor under a plan. If the plan needs parts (`training_plan::needs_parts`), the counter counts the
    /// descriptor's parts. A descriptor without a list of parts is then counted by its cost, as an upper bound.
    template <model_descriptor Model>
    constexpr explicit flop_counter(const Model& model, const convention& counted_as, const training_plan& plan)
        : convention_(counted_as) {
        if constexpr (lists_parts<Model>) {
            if (plan.needs_parts()) {
                count(parts_of(model), plan);
                return;
            }
        }
        count(static_cast<const cost&>(model.cost()), plan);
    }

    /// Counts the FLOPs of a model that has the members `cost` and `parts`, such as a `model_config`. All weights
    /// train.
    template <model_record Model>
    constexpr explicit flop_counter(const Model& model, const convention& counted_as = conventions::exact)
        : convention_(counted_as) {
        fold(static_cast<const cost&>(model.cost));
    }
    /// Counts the FLOPs of a model that has the members `cost` and `parts`, under a plan.
    template <model_record Model>
    constexpr explicit flop_counter(const Model& model, const convention& counted_as, const training_plan& plan)
        : convention_(counted_as) {
        const array_view<model_part> parts = model.parts;
        if (plan.needs_parts() && !parts.empty()) {
            count(parts, plan, static_cast<const cost&>(model.cost));
        } else {
            count(static_cast<const cost&>(model.cost), plan);
        }
    }

    /// Returns the masks whose pairs a tally must count for this cost.
    [[nodiscard]] constexpr const mask_set& masks() const { return counted_.masks; }
    /// Returns the convention of this counter.
    [[nodiscard]] constexpr const convention& counted_as() const { return convention_; }
    /// Returns the coefficients from which `evaluate` computes a breakdown.
    [[nodiscard]] constexpr const detail::accumulator_coefficients& by_component() const { return counted_; }
    /// Returns true if only the forward counts: the plan has no backward, or no weight trains.
    [[nodiscard]] constexpr bool is_forward_only() const {
        for (const detail::accumulator_coefficients::group& g : counted_.groups) {
            if (g.run.backward_data != 0 || g.run.backward_weights != 0) {
                return false;
            }
        }
        return true;
    }
    /// True if experts count by measured visits. A tally with tokens must then also have visits (`tally::add_routed`).
    [[nodiscard]] constexpr bool needs_routed() const { return counted_.needs.routed; }
    /// True if the FLOPs are an upper bound (see `breakdown::is_upper_bound`). This happens if only some weights train
    /// and the order of the products is unknown: the model is a cost without parts, or a part does not declare what its
    /// entries read.
    [[nodiscard]] constexpr bool is_upper_bound() const { return counted_.is_upper_bound; }

    /// Returns the FLOPs of a batch by component, phase and view. Throws `error` if the cost needs a measured
    /// accumulator and the tally lacks it.
    [[nodiscard]] constexpr breakdown evaluate(const tally& batch) const {
        breakdown result;
        evaluate(batch, result);
        return result;
    }

    /// Writes the FLOPs of a batch to `into`. Reuses the memory of `into`. In a loop this is faster than the overload
    /// that returns a breakdown. An error leaves `into` unchanged.
    constexpr void evaluate(const tally& batch, breakdown& into) const {
        const detail::accumulator_table accumulators(counted_.masks, counted_.needs, batch);
        into.clear(counted_.names.size());
        into.mark_upper_bound(counted_.is_upper_bound);
        component_flops* work = nullptr;
        for (const detail::accumulator_coefficients::group& g : counted_.groups) {
            // The sums are local variables. If they were behind a reference, the code that g++ 12 generates would take
            // three times as long.
            uint128 useful = 0;
            uint128 padded = 0;
            for (std::size_t i = g.first; i < g.last; ++i) {
                const detail::accumulator_coefficients::coefficient& e = counted_.coefficients[i];
                useful += uint128{accumulators.useful[e.accumulator]} * e.useful;
                padded += uint128{accumulators.padded[e.accumulator]} * e.padded;
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

    /// Returns the FLOPs of a batch, summed over components and phases. The result equals that of
    /// `evaluate(batch).total(seen)`, which is slower.
    [[nodiscard]] constexpr flops total_flops(const tally& batch, view seen = view::useful) const {
        const detail::accumulator_table accumulators(counted_.masks, counted_.needs, batch);
        const std::uint64_t* values = seen == view::useful ? accumulators.useful : accumulators.padded;
        uint128 sum = 0;
        for (const std::uint64_t *coefficient = coefficients(seen), *end = coefficient + this->accumulators();
             coefficient != end;) {
            sum += uint128{*values++} * *coefficient++;
        }
        return flops{sum};
    }

    /// Returns the FLOPs of one sequence, for balancing samples. The sum over the sequences of a batch is the batch's
    /// total.
    [[nodiscard]] constexpr flops total_flops(const sequence& sample, view seen = view::useful) const {
        counted_.masks.require(modality::text, "length");
        detail::check_sequence(sample);
        if (counted_.needs.routed && sample.length != 0) {
            detail::accumulator_table::refuse_unrouted();
        }
        const std::uint64_t* const by_accumulator = coefficients(seen);
        uint128 sum = 0;
        for (std::size_t moment = 0; moment < detail::tally_accumulators::fixed; ++moment) {
            sum += detail::amount_of(static_cast<accumulator>(moment), sample) * by_accumulator[moment];
        }
        const std::uint64_t* by_mask = by_accumulator + detail::tally_accumulators::before_masks(counted_.masks);
        for (std::size_t i = 0; i < counted_.needs.counted; ++i) {
            const statistic& m = counted_.masks[i];
            if (m.is_measured() && m.in() == modality::text && counted_.needs.accumulators && sample.length != 0) {
                detail::accumulator_table::refuse_unmeasured(m);
            }
            sum += (m.in() == modality::text ? detail::amount_of(m, sample) : 0) * *by_mask++;
        }
        return flops{sum};
    }

  private:
    [[nodiscard]] constexpr std::size_t accumulators() const { return totals_.size() / 3; }
    [[nodiscard]] constexpr const std::uint64_t* coefficients(view seen) const {
        return totals_.begin() + accumulators() * static_cast<std::size_t>(seen);
    }

    constexpr void count(const cost& model, const training_plan& plan) {
        if (plan.logits == logit_tokens::all) {
            fold_whole(model, plan);
        } else {
            fold_whole(with_logits(model, plan.logits), plan);
        }
    }

    constexpr void count(const array_view<model_part>& parts, const training_plan& plan, const cost& whole = {}) {
        if (plan.logits == logit_tokens::all) {
            fold(parts, plan, whole);
        } else {
            fold(with_logits(parts, plan.logits), plan, whole);
        }
    }

    /// Adds the coefficients of a cost under a plan that needs no parts.
    constexpr void fold(const cost& model, const training_plan& plan = {}) {
        counted_.masks = mask_set::of_towers(model.masks());
        counted_.add_entries(model, convention_, plan);
        counted_.keep(model);
        add_totals();
    }

    constexpr void fold_whole(const cost& model, const training_plan& plan) {
        if (!plan.needs_parts()) {
            fold(model, plan);
            return;
        }
        model_part whole{.name = "model", .role = part_role::anywhere, .cost = model};
        counted_.masks = mask_set::of_towers(model.masks());
        counted_.add_planned({&whole, 1}, model, convention_, plan);
        counted_.keep(model);
        add_totals();
    }

    constexpr void fold(const array_view<model_part>& parts, const training_plan& plan, const cost& whole) {
        const cost model = cost_of(parts);
        counted_.masks = mask_set::of_towers(model.masks());
        counted_.add_planned(parts, model, convention_, plan);
        counted_.keep(model);
        counted_.keep(whole);
        add_totals();
    }

    /// Returns `work` multiplied by `n`. Branches are faster than a 128-bit product, because `n` is mostly 0 or 1.
    [[nodiscard]] static constexpr uint128 times(std::uint32_t n, uint128 work) {
        return n == 1 ? work : n == 0 ? 0 : n * work;
    }

    constexpr void add_totals() {
        const std::size_t accumulators =
            detail::tally_accumulators::before_masks(counted_.masks) + counted_.masks.size();
        totals_.fill(3 * accumulators, 0);
        checked sum(0, "cost");
        for (const detail::accumulator_coefficients::group& g : counted_.groups) {
            const std::uint64_t runs = std::uint64_t{g.run.forward} + g.run.backward_data + g.run.backward_weights;
            for (std::size_t i = g.first; i < g.last; ++i) {
                const auto include = [&](view seen, std::uint64_t coefficient, std::uint64_t times) {
                    const std::uint64_t product = checked(coefficient, "cost") * times;
                    sum += product;
                    totals_[accumulators * static_cast<std::size_t>(seen) + counted_.coefficients[i].accumulator] +=
                        product;
                };
                include(view::useful, counted_.coefficients[i].useful, runs);
                include(view::padded, counted_.coefficients[i].padded, runs);
                include(view::executed, counted_.coefficients[i].padded,
                        runs + g.run.executed_more[0] + g.run.executed_more[1] + g.run.executed_more[2] +
                            g.run.recomputed_forward);
            }
        }
    }

    convention convention_;
    detail::accumulator_coefficients counted_;
    list<std::uint64_t> totals_;  ///< for each accumulator, FLOPs per token or pair: useful, padded, executed
};

/// Returns the FLOPs of a batch: the dot product of a cost and a tally. To evaluate every step, keep a `flop_counter`.
///
/// Throws `error` if the tally was built without a mask that the model has: build it with the model's `masks()`. Throws
/// `error` too if the cost needs a measured accumulator and the tally lacks it.
[[nodiscard]] constexpr breakdown evaluate(const cost& model, const tally& batch,
                                           const convention& counted_as = conventions::exact,
                                           const training_plan& plan = {}) {
    return flop_counter(model, counted_as, plan).evaluate(batch);
}

/// Returns the FLOPs of a batch from a model's parts.
[[nodiscard]] constexpr breakdown evaluate(const array_view<model_part>& parts, const tally& batch,
                                           const convention& counted_as = conventions::exact,
                                           const training_plan& plan = {}) {
    return flop_counter(parts, counted_as, plan).evaluate(batch);
}

/// Returns the FLOPs of a batch from a descriptor or a config.
template <class Model>
requires model_descriptor<Model> || model_record<Model>
[[nodiscard]] constexpr breakdown evaluate(const Model& model, const tally& batch,
                                           const convention& counted_as = conventions::exact,
                                           const training_plan& plan = {}) {
    return flop_counter(model, counted_as, plan).evaluate(batch);
}

}  // namespace floptally
