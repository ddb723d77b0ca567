// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <floptally/batch/tally.hpp>
#include <floptally/lists/any_function.hpp>

/// @file
/// The function that sums a meter's step over all ranks.

namespace floptally::inline v0_3 {

/// A function that turns a step's tally into the tally of all ranks, for a meter: `tally_reduction::by(reducer)` makes
/// it. Each rank calls `sum` once a step, with a function that returns its own tally. If that function throws, every
/// rank throws and none waits.
struct rank_sum {
    std::uint64_t ranks = 0;  ///< number of ranks of the layout, each with one GPU
    any_function<tally(function_view<tally()> mine)> sum{};
    std::uint64_t rank = 0;  ///< index of this rank; a report uses it to name the slowest rank of a step
    /// Replaces each integer by its maximum over the ranks. The meter uses this function to compare the times of the
    /// ranks. It calls the function once in each `sum`, inside the function that returns the rank's own tally. If `max`
    /// is empty, times are not compared.
    any_function<void(std::span<std::uint64_t>)> max{};
};

}  // namespace floptally
