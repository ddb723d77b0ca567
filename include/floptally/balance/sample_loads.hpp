// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The FLOPs of each sample, as one cost or as several loads (such as vision and language).

namespace floptally::inline v0_3 {

/// A setting that adds the FLOPs of some components, multiplied by `weight`, to one of the loads.
struct component_load {
    /// The components, as a pattern such as "vision.*". If several patterns match a component, the last one counts.
    component_name components = "*";
    std::size_t load = 0;  ///< index of the load, from 0
    /// Weight of a FLOP. Weights are proportional to 1 ÷ efficiency: a FLOP of weight 3 takes 1.5 times as long as one
    /// of weight 2.
    std::uint64_t weight = 1;
};

/// Returns the FLOPs of each sample. They add up to the total of the batch exactly.
[[nodiscard]] inline std::vector<flops> sample_costs(const flop_counter& model, std::span<const tally> samples,
                                                     view seen = view::useful) {
    std::vector<flops> costs;
    costs.reserve(samples.size());
    for (const tally& sample : samples) {
        costs.push_back(model.total_flops(sample, seen));
    }
    return costs;
}

/// Returns the FLOPs of each sequence, from its length.
template <integer_range Lengths>
[[nodiscard]] std::vector<flops> sample_costs(const flop_counter& model, const Lengths& lengths,
                                              view seen = view::useful) {
    std::vector<flops> costs;
    const std::span sample_lengths{lengths};
    const detail::plain_lengths<typename decltype(sample_lengths)::value_type> length_view{sample_lengths.data(),
                                                                                           "lengths"};
    costs.reserve(sample_lengths.size());
    for (std::size_t i = 0; i < sample_lengths.size(); ++i) {
        costs.push_back(model.total_flops(sequence{.length = length_view.checked(i)}, seen));
    }
    return costs;
}

/// Returns the number of loads: one more than the largest index in `by_component`.
[[nodiscard]] inline std::size_t loads_of(std::span<const component_load> by_component) {
    std::size_t loads = 0;
    for (const component_load& candidate : by_component) {
        loads = std::max(loads, candidate.load + 1);
    }
    return loads;
}

/// Returns the weighted FLOPs of each sample for each load: `loads_of(by_component)` adjacent numbers for each sample.
/// Throws if a component matches none of the patterns.
[[nodiscard]] inline std::vector<flops> sample_loads(const flop_counter& model, std::span<const tally> samples,
                                                     std::span<const component_load> by_component,
                                                     view seen = view::useful) {
    const std::size_t loads = loads_of(by_component);
    std::vector<flops> sums(samples.size() * loads);
    for (std::size_t sample = 0; sample < samples.size(); ++sample) {
        const breakdown work = model.evaluate(samples[sample]);
        for (const component_flops& component : work.components()) {
            const component_load* match = nullptr;
            for (const component_load& candidate : by_component) {
                match = matches(candidate.components.view(), component.name.view()) ? &candidate : match;
            }
            if (match == nullptr) {
                detail::refuse("loads", {"have no pattern that matches the component \"", component.name.view(),
                                         "\": add one, or \"*\" for all components"});
            }
            sums[sample * loads + match->load] += match->weight * component.total(seen);
        }
    }
    return sums;
}

}  // namespace floptally
