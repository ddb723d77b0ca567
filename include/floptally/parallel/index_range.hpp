// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace floptally {

/// Numbers first … last − 1: of tokens, heads, layers or experts.
struct index_range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;

    [[nodiscard]] constexpr std::uint64_t size() const { return last - first; }
    /// What of it stands before `end`.
    [[nodiscard]] constexpr index_range clipped(std::uint64_t end) const {
        return {first < end ? first : end, last < end ? last : end};
    }
    [[nodiscard]] friend constexpr bool operator==(const index_range&, const index_range&) = default;
};

}  // namespace floptally
