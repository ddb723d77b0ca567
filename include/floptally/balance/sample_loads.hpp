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
/// The FLOPs of each sample, as one cost or as several loads.

namespace floptally {

/// The load that components count to, and the weight of one of their FLOPs.
struct component_load {
    component_name components =
        "*";                   ///< "vision.*", patterns as in a `weight_setting`; the last load that matches decides
    std::size_t load = 0;      ///< 0, 1, …
    std::uint64_t weight = 1;  ///< in proportion to 1 ÷ efficiency: 3 beside 2 takes 1.5 times as long
};

/// A tally for each sequence, for samples without images and sound.
template <detail::integer_range Lengths>
[[nodiscard]] std::vector<tally> sample_tallies(const flop_counter& model, const Lengths& lengths) {
    std::vector<tally> samples;
    const std::span all{lengths};
    const detail::given_lengths<typename decltype(all)::value_type> given{all.data(), "lengths"};
    samples.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        samples.emplace_back(model.masks()).add(sequence{.length = given.checked(i)});
    }
    return samples;
}

/// FLOPs of each sample. They add up to the total of the batch exactly.
[[nodiscard]] inline std::vector<flops> sample_costs(const flop_counter& model, std::span<const tally> samples,
                                                     view seen = view::useful) {
    std::vector<flops> costs;
    costs.reserve(samples.size());
    for (const tally& sample : samples) {
        costs.push_back(model.total(sample, seen));
    }
    return costs;
}

/// FLOPs of each sequence, from its length.
template <detail::integer_range Lengths>
[[nodiscard]] std::vector<flops> sample_costs(const flop_counter& model, const Lengths& lengths,
                                              view seen = view::useful) {
    std::vector<flops> costs;
    const std::span all{lengths};
    const detail::given_lengths<typename decltype(all)::value_type> given{all.data(), "lengths"};
    costs.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        costs.push_back(model.total(sequence{.length = given.checked(i)}, seen));
    }
    return costs;
}

/// The number of loads that components count to: one more than the largest index.
[[nodiscard]] inline std::size_t loads_of(std::span<const component_load> by_component) {
    std::size_t loads = 0;
    for (const component_load& known : by_component) {
        loads = std::max(loads, known.load + 1);
    }
    return loads;
}

/// Weighted FLOPs of each sample by the loads of components: `loads_of(by_component)` numbers for each sample, side by
/// side. A component that none matches is an error.
[[nodiscard]] inline std::vector<flops> sample_loads(const flop_counter& model, std::span<const tally> samples,
                                                     std::span<const component_load> by_component,
                                                     view seen = view::useful) {
    const std::size_t loads = loads_of(by_component);
    std::vector<flops> sums(samples.size() * loads);
    for (std::size_t sample = 0; sample < samples.size(); ++sample) {
        const breakdown work = model.evaluate(samples[sample]);
        for (const component_flops& component : work.components()) {
            const component_load* decides = nullptr;
            for (const component_load& known : by_component) {
                decides = matches(known.components.view(), component.name.view()) ? &known : decides;
            }
            if (decides == nullptr) {
                detail::refuse("loads", {"none matches \"", component.name.view(), "\""});
            }
            sums[sample * loads + decides->load] += decides->weight * component.total(seen);
        }
    }
    return sums;
}

}  // namespace floptally
