// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <floptally/checked.hpp>
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

/// Of one load for each rank: largest · ranks / Σ.
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
    if (sum == 0) {
        return {};
    }
    const uint128 product = uint128{largest} * loads.size();
    uint128 divisor = product;
    for (uint128 rest = sum; rest != 0;) {
        const uint128 next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return {product / divisor, sum / divisor};
}

}  // namespace floptally
