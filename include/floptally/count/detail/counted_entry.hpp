// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/count/convention.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Finds how one entry of a cost counts under a convention and a plan. `flop_counter` adds up the entries.

namespace floptally::inline v0_3::detail {

/// The number of times that a product runs in each phase.
struct passes {
    std::uint8_t forward = 0;
    std::uint8_t backward_data = 0;
    std::uint32_t backward_weights = 0;
    /// How many more times the product runs in the phases forward, backward_data and backward_weights. These runs count
    /// only in the executed view (`component_flops::executed_more`).
    std::uint32_t executed_more[3] = {};
    std::uint32_t recomputed_forward = 0;

    /// Returns the passes of a product that `ranks` ranks all run. The passes of one rank count in all views. Those of
    /// the other ranks count only in the executed view.
    [[nodiscard]] constexpr passes on(std::uint32_t ranks) const {
        passes all = *this;
        const std::uint32_t once[] = {forward, backward_data, backward_weights};
        for (std::size_t i = 0; i < 3; ++i) {
            all.executed_more[i] = ranks * executed_more[i] + (ranks - 1) * once[i];
        }
        all.recomputed_forward *= ranks;
        return all;
    }

    [[nodiscard]] constexpr passes without_backward() const {
        passes run;
        run.forward = forward;
        run.executed_more[0] = executed_more[0];
        run.recomputed_forward = recomputed_forward;
        return run;
    }
    [[nodiscard]] constexpr passes backward() const {
        passes run = *this;
        run.forward = 0;
        run.executed_more[0] = 0;
        run.recomputed_forward = 0;
        return run;
    }

    [[nodiscard]] friend constexpr bool operator==(const passes&, const passes&) = default;
};

/// The gradients that the backward of an entry computes.
struct gradients {
    bool first = true;   ///< true: computes the gradient of the input, or of the first operand if the entry multiplies
                         ///< two activations
    bool second = true;  ///< true: computes the gradient of the second operand of two activations
    bool weight = true;
    bool output = true;  ///< true if a gradient arrives at the entry's output

    [[nodiscard]] friend constexpr bool operator==(const gradients&, const gradients&) = default;
};

/// Returns true if `training_plan::recomputed` says that all entries of this kind are recomputed. Does not look at the
/// components that the plan lists by name.
[[nodiscard]] constexpr bool is_recomputed(term kind, const training_plan& plan) {
    const term_place place = meaning_of(kind).place;
    const bool in_core = place == term_place::attention_core;
    return plan.recomputed == recompute::full        ? in_core || place == term_place::layer
           : plan.recomputed == recompute::attention ? in_core
                                                     : false;
}

/// Returns how often an entry's product runs in each phase. `needed` are the gradients that its backward must compute.
[[nodiscard]] constexpr passes passes_of(const cost_entry& entry, const convention& counted_as,
                                         const training_plan& plan, bool recomputed, const gradients& needed = {}) {
    const term kind = entry.kind;
    passes run;
    run.forward = plan.counted == counted_passes::backward ? 0 : 1;
    if (meaning_of(kind).backward == term_backward::instead) {
        run.forward = 0;
        run.backward_weights = plan.counted == counted_passes::forward ? 0 : 1;
        return run;
    }
    if (meaning_of(kind).backward == term_backward::alone) {
        run.forward = 0;
        run.backward_data = plan.counted == counted_passes::forward || !needed.output ? 0 : 1;
        return run;
    }
    if (plan.counted == counted_passes::forward) {
        return run;
    }
    run.recomputed_forward = recomputed ? 1 : 0;
    const bool indexer_trains =
        plan.indexer != indexer_training::frozen || counted_as.indexer == indexer_backward::as_layers;
    if (is_detached(kind) && counted_as.parameters == counted_weights::visited &&
        !(is_of_indexer(kind) && indexer_trains)) {
        return run;
    }
    const term_backward backward = meaning_of(kind).backward;
    const bool flash = counted_as.backward == attention_backward::flash;
    const int products = (needed.first ? 1 : 0) + (needed.second ? 1 : 0);
    const int again = backward == term_backward::fused_again ? 1 : 0;
    switch (backward) {
        case term_backward::weight_and_data:
        case term_backward::weight_only:
            run.backward_data = needed.first && backward == term_backward::weight_and_data ? 1 : 0;
            run.backward_weights = !needed.weight                                  ? 0
                                   : counted_as.groups == grouped_gradient::as_run ? 1
                                                                                   : entry.groups;
            break;
        case term_backward::fused:
        case term_backward::fused_again:
            if (needed.output && !flash && plan.flash_attention) {
                // A fused kernel computes the gradients of all three operands even if only one is needed.
                run.executed_more[1] = static_cast<std::uint32_t>(2 - products + again);
            }
            run.backward_data = static_cast<std::uint8_t>(!flash ? products : needed.output ? 2 + again : 0);
            break;
        case term_backward::each_operand:
            run.backward_data = static_cast<std::uint8_t>(products);
            break;
        case term_backward::once:
            run.backward_data = needed.output ? 1 : 0;
            break;
        case term_backward::none:
        case term_backward::alone:
        case term_backward::instead:
            break;
    }
    return run;
}

/// Returns how many ranks repeat the work of a weight, or of a component without weights (`training_plan::repeated`).
/// Returns 1 if the work is not repeated.
[[nodiscard]] constexpr std::uint32_t ranks_of(const training_plan& plan, std::string_view component,
                                               std::string_view weight) {
    std::uint64_t ranks = 1;
    for (const repeated_work& work : plan.repeated) {
        ranks = matches(work.weights, component, weight) ? work.ranks : ranks;
    }
    return static_cast<std::uint32_t>(ranks);
}

/// Throws `error` if `training_plan::repeated` has an invalid number of ranks, or a name that matches nothing in this
/// model.
constexpr void check_repeated(const cost& model, const training_plan& plan) {
    constexpr std::uint64_t most_ranks = 1U << 24U;
    for (std::size_t i = 0; i < plan.repeated.size(); ++i) {
        const repeated_work& work = plan.repeated[i];
        if (work.ranks == 0 || work.ranks > most_ranks) {
            refuse(indexed("plan.repeated", i), {"ranks must be from 1 to 16777216, got ", work.ranks});
        }
        bool named = false;
        for (const cost_entry& entry : model.entries()) {
            named =
                named || matches(work.weights, model.components()[entry.component].view(), model.weight_name(entry));
        }
        if (!named) {
            refuse(indexed("plan.repeated", i), {"no component or weight is named \"", work.weights.view(),
                                                 "\"; use the names that the breakdown shows"});
        }
    }
}

/// Returns the number of parameters of an entry, or 0 for an lm_head that shares the embedding's table.
[[nodiscard]] constexpr std::uint64_t untied_parameters(const cost& model, const cost_entry& entry) {
    const bool is_head = entry.kind == term::lm_head || entry.kind == term::detached_head;
    for (const cost_entry& table : model.entries()) {
        const std::uint64_t size = table.useful / 2;
        if (is_head && table.kind == term::tied_embedding && entry.parameters >= size) {
            return entry.parameters - size;
        }
    }
    return entry.parameters;
}

/// Returns a cost entry as the convention counts it. A convention may change the FLOPs of an entry, and whether they
/// count for each token, pair or sequence.
[[nodiscard]] constexpr cost_entry counted_entry(const cost& model, cost_entry entry, const convention& counted_as) {
    if (counted_as.parameters == counted_weights::stored) {
        entry.what = accumulator::tokens;
        entry.useful = entry.padded = 2 * checked(untied_parameters(model, entry), "cost");
        return entry;
    }
    const auto scale = [&entry](std::uint64_t counted, std::uint64_t exact) {
        for (std::uint64_t* flops : {&entry.useful, &entry.padded}) {
            const std::uint64_t times_exact = checked(*flops, "cost") * counted;
            *flops = times_exact / exact;
        }
    };
    if (entry.kind == term::delta_rule) {
        const bool by_channel = entry.groups > 1;
        const std::uint64_t elements[]{entry.useful / conventions::exact.delta_rule_flops,
                                       entry.padded / conventions::exact.delta_rule_flops};
        scale(by_channel && counted_as.channel_decay_flops != 0 ? counted_as.channel_decay_flops
                                                                : counted_as.delta_rule_flops,
              conventions::exact.delta_rule_flops);
        if (by_channel && counted_as.delta_chunk != 0) {
            const std::uint64_t dim = entry.groups;
            const std::uint64_t chunk = counted_as.delta_chunk;
            const std::uint64_t of_a_head = checked(3 * dim + chunk, "cost") * chunk;
            const std::uint64_t more[]{checked(elements[0], "cost") * of_a_head,
                                       checked(elements[1], "cost") * of_a_head};
            entry.useful = checked(entry.useful, "cost") + more[0] / (dim * dim);
            entry.padded = checked(entry.padded, "cost") + more[1] / (dim * dim);
        }
    } else if (entry.kind == term::scan) {
        scale(counted_as.scan_flops, conventions::exact.scan_flops);
    } else if (entry.kind == term::lm_head && entry.what == accumulator::tokens &&
               counted_as.head == head_rows::one_per_sequence) {
        entry.what = accumulator::count;
    }
    return entry;
}

/// Collects the facts about a model's attention that a convention may use.
[[nodiscard]] constexpr attention_context context_of(const cost& model) {
    for (const statistic& m : model.masks()) {
        if (m.in() == modality::text && !m.reads_other_side() && !m.is_measured() && !is_sliding_window(m)) {
            return {.has_layer_without_window = true};
        }
    }
    return {};
}

}  // namespace floptally::detail
