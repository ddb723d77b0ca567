// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <floptally/batch/tally.hpp>

/// @file
/// The function that sums a meter's step over all ranks.

namespace floptally {

/// The function that turns a step's tally into that of all ranks, for a meter: `tally_reduction::by(reducer)`. Each
/// rank calls `sum` once a step, with a function that returns its own tally or throws: then every rank throws, and none
/// waits for it.
struct rank_sum {
    std::uint64_t ranks = 0;  ///< of the layout, with a GPU each
    std::function<tally(const std::function<tally()>& mine)> sum{};
};

}  // namespace floptally
