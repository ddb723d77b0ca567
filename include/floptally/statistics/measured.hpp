// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/statistics/moments.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `measured("loss_tokens")`: the statistic of an accumulator that the caller measures and adds.

namespace floptally::inline v0_3 {

/// Returns the statistic of the accumulator that the caller measures under that name.
[[nodiscard]] constexpr statistic measured(std::string_view name) { return unit_statistics::measured::named(name); }

/// The accumulator for work that runs once in each pass of a model for any batch, such as products of parameters alone.
/// Unlike visits of experts it is not summed over layers, so entries over it add up and scale like entries over tokens.
inline constexpr std::string_view passes_accumulator = "passes";
/// Returns true for the accumulator `passes_accumulator`.
[[nodiscard]] constexpr bool counts_passes(const statistic& accumulator) {
    return accumulator.is<unit_statistics::measured>() &&
           accumulator.as<unit_statistics::measured>().accumulator() == passes_accumulator;
}

}  // namespace floptally
