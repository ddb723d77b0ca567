// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/detail/bounded_vector.hpp>

namespace floptally::detail {

/// Keys first … end − 1.
struct key_span {
    std::uint64_t first = 0;
    std::uint64_t end = 0;

    [[nodiscard]] friend constexpr bool operator==(const key_span&, const key_span&) = default;
};

/// What some rows that follow each other see, together: a few spans without gaps, which may overlap.
class seen_keys {
  public:
    constexpr void add(std::uint64_t first, std::uint64_t end) {
        if (first >= end) {
            return;
        }
        spans_.push_back({first, end}, "spans");
        for (std::size_t i = spans_.size() - 1; i > 0 && spans_[i - 1].first > first; --i) {
            spans_[i] = spans_[i - 1];
            spans_[i - 1] = {first, end};
        }
    }

    /// How many of the blocks that start at multiples of `block` hold a key.
    [[nodiscard]] constexpr std::uint64_t blocks(std::uint64_t block) const {
        std::uint64_t touched = 0;
        std::uint64_t counted = 0;  // blocks before this one are
        for (const key_span& span : spans_) {
            const std::uint64_t end = (span.end - 1) / block + 1;
            const std::uint64_t first = span.first / block;
            const std::uint64_t from = first < counted ? counted : first;
            touched += end > from ? end - from : 0;
            counted = end > counted ? end : counted;
        }
        return touched;
    }

    /// How many keys before `limit` are seen.
    [[nodiscard]] constexpr std::uint64_t before(std::uint64_t limit) const {
        std::uint64_t seen = 0;
        std::uint64_t counted = 0;  // keys before this one are
        for (const key_span& span : spans_) {
            const std::uint64_t end = span.end < limit ? span.end : limit;
            const std::uint64_t from = span.first < counted ? counted : span.first;
            seen += end > from ? end - from : 0;
            counted = end > counted ? end : counted;
        }
        return seen;
    }

  private:
    bounded_vector<key_span, 8> spans_;  // by their first key
};

/// A position less a distance; 0 where there is none.
[[nodiscard]] constexpr std::uint64_t back(std::uint64_t from, std::uint64_t by) { return from > by ? from - by : 0; }

}  // namespace floptally::detail
