// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The unit of a report: FLOPs, or MACs of two FLOPs each.

namespace floptally::inline v0_3 {

/// The unit in which a report shows work. One MAC is a multiplication and an addition, and so two FLOPs.
enum class work_unit : bool { flops, macs };

/// The names of the units in options and arguments.
inline constexpr const char* work_unit_names[] = {"flops", "macs"};

/// Returns the work as an exact number of FLOPs or MACs. Throws an `error` if the number of MACs is not whole. Some
/// conventions give such work: half of an odd number of attended pairs, or additions without a multiplication.
[[nodiscard]] inline uint128 in_unit(flops work, work_unit unit) {
    if (unit == work_unit::flops) {
        return work.value();
    }
    if (work.value() % 2 != 0) {
        detail::refuse("unit", {"macs: ", to_string(work),
                                " FLOPs are no whole number of MACs under this convention: leave the unit out, or "
                                "count by the convention exact"});
    }
    return work.value() / 2;
}

/// Converts a rate or a peak from FLOP/s to `unit` per second, that is, to FLOP/s or MAC/s.
[[nodiscard]] constexpr double rate_in_unit(double rate, work_unit unit) {
    return unit == work_unit::flops ? rate : rate / 2;
}

}  // namespace floptally
