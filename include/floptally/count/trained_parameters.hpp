// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/count/detail/weight_states.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>

/// @file
/// Counts the parameters that are stored and trained under a plan.

namespace floptally::inline v0_3 {

/// The numbers of parameters that a model stores and trains under a plan.
struct parameter_counts {
    std::uint64_t stored = 0;     ///< parameters of the model and of LoRA adapters
    std::uint64_t trainable = 0;  ///< stored parameters with a gradient and optimizer state
    std::uint64_t adapters = 0;   ///< parameters of the LoRA adapters that the plan adds

    [[nodiscard]] friend constexpr bool operator==(const parameter_counts&, const parameter_counts&) = default;
};

/// Counts the parameters of a model under a plan. A tied embedding counts once, as the lm_head. Weights that several
/// layers share count once, in the layer that stores them. For the parts of one rank (`rank_parts`), only the
/// parameters that the rank stores count. Throws `error` if a sum exceeds 64 bits.
[[nodiscard]] constexpr parameter_counts trained_parameters(const array_view<model_part>& parts,
                                                            const training_plan& plan) {
    const detail::weight_states states(plan);
    states.check(parts);
    parameter_counts counts;
    states.for_each(
        parts, [&](const model_part& part, std::uint64_t layer, const cost_entry& entry, std::uint64_t layers) {
            if (part.elsewhere) {
                return;
            }
            const auto add = [layers](std::uint64_t& sum, std::uint64_t more) {
                sum = checked(sum, "parameters") + checked(more, "parameters") * layers;
            };
            const detail::weight_states::decision decided = states.state_of(part, layer, entry);
            add(counts.stored, entry.parameters);
            add(counts.trainable, decided.state == weight_state::trainable ? entry.parameters : 0);
            if (decided.adapts(entry)) {
                const std::uint64_t parameters = checked(decided.rank, "parameters") * entry.per_rank.parameters;
                for (std::uint64_t* sum : {&counts.stored, &counts.trainable, &counts.adapters}) {
                    add(*sum, parameters);
                }
            }
        });
    return counts;
}

}  // namespace floptally
