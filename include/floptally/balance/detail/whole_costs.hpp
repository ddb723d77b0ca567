// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/balance/cost_range.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// Costs as integers. The integer 1 stands for 2^exponent of the caller's unit.
struct whole_costs {
    std::vector<uint128> values{};
    int exponent = 0;
};

/// Returns the exponent e of the unit 2^e in which costs become integers. It is 0 if they are integers already.
/// Otherwise the largest cost has the 53 bits of a `double`, and fractions of a unit are cut off.
template <std::floating_point Float>
[[nodiscard]] int unit_exponent(std::span<const Float> costs) {
    double largest = 0;
    bool whole = true;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        const double cost = costs[i];
        if (!std::isfinite(cost) || cost < 0) {
            refuse(indexed("costs", i), {"must be finite and not negative, got ", std::to_string(cost)});
        }
        largest = std::max(largest, cost);
        whole = whole && cost == std::floor(cost);
    }
    constexpr int bits = 53;
    const int exponent = std::ilogb(largest) + 1;
    return whole && exponent <= bits ? 0 : exponent - bits;
}

template <balance_cost Cost>
[[nodiscard]] whole_costs whole_costs_of(std::span<const Cost> costs) {
    whole_costs whole;
    whole.values.reserve(costs.size());
    if constexpr (std::floating_point<Cost>) {
        whole.exponent = unit_exponent(costs);
        for (const Cost cost : costs) {
            whole.values.push_back(static_cast<uint128>(std::ldexp(static_cast<double>(cost), -whole.exponent)));
        }
    } else if constexpr (std::same_as<Cost, flops>) {
        for (const flops cost : costs) {
            whole.values.push_back(cost.value());
        }
    } else {
        for (std::size_t i = 0; i < costs.size(); ++i) {
            if constexpr (std::signed_integral<Cost>) {
                if (costs[i] < 0) {
                    refuse(indexed("costs", i), {"must not be negative, got ", costs[i]});
                }
            }
            whole.values.push_back(static_cast<uint128>(costs[i]));
        }
    }
    return whole;
}

/// Returns the number of samples: `costs` (how many costs were passed) ÷ `loads` (how many each sample has). Throws
/// `error` if the division leaves a remainder.
[[nodiscard]] inline std::size_t samples_of(std::size_t costs, std::size_t loads) {
    if (loads == 0 || costs % loads != 0) {
        refuse("costs", {"must have a multiple of ", loads, " numbers, ", loads, " for each sample, got ", costs});
    }
    return costs / loads;
}

}  // namespace floptally::detail
