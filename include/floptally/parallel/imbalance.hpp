// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <floptally/integer/checked.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The imbalance of ranks: the maximum of their loads divided by the mean, as an exact fraction.

namespace floptally::inline v0_3 {

/// The imbalance of ranks: the maximum of their loads divided by the mean, as a fraction in lowest terms. It is 1/1 if
/// all loads are equal, even 0.
struct imbalance {
    uint128 numerator = 1;
    uint128 denominator = 1;

    [[nodiscard]] constexpr double ratio() const {
        return static_cast<double>(numerator) / static_cast<double>(denominator);
    }

    [[nodiscard]] friend constexpr bool operator==(const imbalance&, const imbalance&) = default;
};

/// Returns the imbalance from the largest load and the sum of loads: largest · ranks ÷ sum.
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
    const uint128 load_divisor = divisor_of(largest, sum);
    const uint128 rank_divisor = divisor_of(ranks, sum / load_divisor);
    const uint128 factor = ranks / rank_divisor;
    if (largest / load_divisor > ~uint128{0} / factor) {
        throw overflow("loads", "the largest load times the number of ranks does not fit 128 bits: use smaller loads");
    }
    return {largest / load_divisor * factor, sum / load_divisor / rank_divisor};
}

/// Returns the imbalance of the loads of ranks.
[[nodiscard]] constexpr imbalance imbalance_of(std::span<const std::uint64_t> loads) {
    if (loads.empty()) {
        throw error("loads", "must have the load of at least one rank, got none");
    }
    uint128 sum = 0;
    std::uint64_t largest = 0;
    for (const std::uint64_t load : loads) {
        sum += load;
        largest = detail::larger(largest, load);
    }
    return imbalance_of(largest, sum, loads.size());
}

}  // namespace floptally
