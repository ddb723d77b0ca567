// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic_type.hpp>

/// @file
/// A statistic that counts the complete blocks of tokens in a sequence.

namespace floptally::inline v0_3::unit_statistics {

/// The number of complete blocks of `ratio` tokens in a sequence: ⌊n / ratio⌋. If the sequence has a past, a block
/// counts only if its last token is a new token.
struct whole_blocks {
    std::int32_t ratio;

    static constexpr std::string_view name = "whole_blocks"sv;
    static constexpr statistic_parameter parameters[] = {{"compression_ratio", 1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto tokens = static_cast<std::uint64_t>(ratio);
        return mask_statistics::end_of(s) / tokens - s.past / tokens;
    }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
};

}  // namespace floptally::unit_statistics

/// Functions that make a statistic that is no mask. Pass it as the unit of a `cost_entry`.
namespace floptally::inline v0_3::unit {

/// Returns the statistic that counts the complete blocks of `ratio` tokens in a sequence.
[[nodiscard]] constexpr unit_statistics::whole_blocks whole_blocks(whole_number auto ratio) {
    return detail::from_numbers<unit_statistics::whole_blocks>(ratio);
}

}  // namespace floptally::unit
