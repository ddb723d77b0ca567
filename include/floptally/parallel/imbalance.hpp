// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>

namespace floptally {

/// Max over mean of what ranks do, as a fraction in lowest terms: 1/1 where all do the same, or none does anything.
struct imbalance {
    uint128 numerator = 1;
    uint128 denominator = 1;

    [[nodiscard]] constexpr double ratio() const {
        return static_cast<double>(numerator) / static_cast<double>(denominator);
    }

    [[nodiscard]] friend constexpr bool operator==(const imbalance&, const imbalance&) = default;
};

/// largest · ranks / Σ.
[[nodiscard]] constexpr imbalance imbalance_of(uint128 largest, uint128 sum, std::uint64_t ranks) {
    if (sum == 0) {
        return {};
    }
    const auto divisor_of = [](uint128 a, uint128 b) {
        while (b != 0) {
            const uint128 rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    };
    const uint128 of_both = divisor_of(largest, sum);
    const uint128 of_ranks = divisor_of(ranks, sum / of_both);
    const uint128 factor = ranks / of_ranks;
    if (largest / of_both > ~uint128{0} / factor) {
        throw overflow("loads", "the largest times the number of ranks does not fit 128 bits");
    }
    return {largest / of_both * factor, sum / of_both / of_ranks};
}

/// Of one load for each rank.
[[nodiscard]] constexpr imbalance imbalance_of(std::span<const std::uint64_t> loads) {
    if (loads.empty()) {
        throw error("loads", "must be of at least one rank");
    }
    uint128 sum = 0;
    std::uint64_t largest = 0;
    for (const std::uint64_t load : loads) {
        sum += load;
        largest = load > largest ? load : largest;
    }
    return imbalance_of(largest, sum, loads.size());
}

}  // namespace floptally
