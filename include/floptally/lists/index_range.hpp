// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// @file
/// A half-open range of indices, such as of tokens, heads, layers or experts.

namespace floptally::inline v0_3 {

/// The range of indices from `first` to `last` − 1.
struct index_range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;

    [[nodiscard]] constexpr std::uint64_t size() const { return last - first; }
    /// Returns the part of the range below `end`.
    [[nodiscard]] constexpr index_range clipped(std::uint64_t end) const {
        return {first < end ? first : end, last < end ? last : end};
    }
    [[nodiscard]] friend constexpr bool operator==(const index_range&, const index_range&) = default;
};

}  // namespace floptally
