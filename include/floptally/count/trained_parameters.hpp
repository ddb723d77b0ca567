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
/// Numbers of weights that a plan stores and trains.

namespace floptally {

/// Numbers of weights that a plan keeps in memory.
struct parameter_counts {
    std::uint64_t stored = 0;     ///< the model's weights and the adapters'
    std::uint64_t trainable = 0;  ///< those of them with a gradient and an optimizer's state
    std::uint64_t adapters = 0;   ///< those that the plan adds

    [[nodiscard]] friend constexpr bool operator==(const parameter_counts&, const parameter_counts&) = default;
};

/// Counts the weights of a model under a plan. A tied embedding is counted once, as the lm_head; weights that several
/// layers share, with the layer that stores them; of a rank's parts (`rank_parts`) only those that the rank stores.
/// Sums above 64 bits are an error.
[[nodiscard]] constexpr parameter_counts trained_parameters(const detail::array_view<model_part>& parts,
                                                            const training_plan& plan) {
    const detail::weight_states states(plan);
    states.check(parts);
    parameter_counts counts;
    const auto add = [](std::uint64_t& sum, std::uint64_t more) { sum = checked(sum, "parameters") + more; };
    detail::weight_states::for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_row& row) {
        if (part.elsewhere) {
            return;
        }
        const detail::weight_states::decision decided = states.state_of(part, layer, row);
        add(counts.stored, row.parameters);
        add(counts.trainable, decided.state == weight_state::trainable ? row.parameters : 0);
        if (decided.adapts(row)) {
            const std::uint64_t both = checked(decided.rank, "parameters") * row.per_rank.parameters;
            for (std::uint64_t* sum : {&counts.stored, &counts.trainable, &counts.adapters}) {
                add(*sum, both);
            }
        }
    });
    return counts;
}

}  // namespace floptally
