// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// Units of an image by a table of its patches, and what they see: Aria's queries. The table has two entries, which are
/// equal where it lists one number of patches; an image of other patches is `error`. Enumerated in
/// tests/rules/listed_rules.test.cpp.

namespace floptally::unit_rules {

/// The units of a frame: `units` where it has `patches` patches, `other_units` where it has `other_patches`.
struct listed_units {
    std::int32_t patches;
    std::int32_t units;
    std::int32_t other_patches;
    std::int32_t other_units;

    static constexpr std::string_view name = "listed_units"sv;
    static constexpr rule_parameter parameters[] = {
        {"patches", 1}, {"units", 1}, {"other_patches", 1}, {"other_units", 1}};

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        const std::uint64_t cells = g.frame_patches();
        return static_cast<std::uint64_t>(cells == static_cast<std::uint64_t>(patches)         ? units
                                          : cells == static_cast<std::uint64_t>(other_patches) ? other_units
                                                                                               : 0);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        return g.t * g.frame_patches() != 0 && of_frame(g) == 0 ? grid_problem::not_listed : grid_problem::none;
    }
};

}  // namespace floptally::unit_rules

namespace floptally::mask_rules {

/// Each of `unit_rules::listed_units` sees every patch of its frame.
struct listed_pairs : unit_rules::listed_units {
    static constexpr std::string_view name = "listed_pairs"sv;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frame(const grid& g) const {
        return listed_units::of_frame(g) * g.frame_patches();
    }
};

}  // namespace floptally::mask_rules
