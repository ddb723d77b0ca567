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

/// The name of the accumulator for work that runs once in each pass of a model, whatever the batch, such as products of
/// parameters only. Unlike visits of experts, passes are not summed over layers. So a cost multiplies passes by the
/// number of layers, as it multiplies tokens.
inline constexpr std::string_view passes_accumulator = "passes";
/// Returns true for the accumulator of work that runs once in each pass of a model.
[[nodiscard]] constexpr bool counts_passes(const statistic& accumulator) {
    return accumulator.is<unit_statistics::measured>() &&
           accumulator.as<unit_statistics::measured>().accumulator() == passes_accumulator;
}

}  // namespace floptally
