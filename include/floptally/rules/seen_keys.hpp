// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/lists/list.hpp>

/// @file
/// `seen_keys`: the spans of keys that some rows of a mask see together.

namespace floptally::detail {

/// A span of keys: first … end − 1.
struct key_span {
    std::uint64_t first = 0;
    std::uint64_t end = 0;

    [[nodiscard]] friend constexpr bool operator==(const key_span&, const key_span&) = default;
};

/// The keys that consecutive rows see together, as disjoint spans in the order of their first keys.
class seen_keys {
  public:
    /// Adds the keys first … end − 1; nothing where first ≥ end.
    constexpr void add(std::uint64_t first, std::uint64_t end) {
        if (first >= end) {
            return;
        }
        // Those that it touches become one with it.
        std::size_t after = spans_.size();
        while (after > 0 && spans_[after - 1].first > end) {
            --after;
        }
        std::size_t at = after;
        while (at > 0 && spans_[at - 1].end >= first) {
            --at;
            first = spans_[at].first < first ? spans_[at].first : first;
            end = spans_[at].end > end ? spans_[at].end : end;
        }
        if (at == after) {
            spans_.push_back({}, "spans");
            for (std::size_t i = spans_.size() - 1; i > at; --i) {
                spans_[i] = spans_[i - 1];
            }
        } else {
            const std::size_t gone = after - at - 1;
            for (std::size_t i = after; gone != 0 && i < spans_.size(); ++i) {
                spans_[i - gone] = spans_[i];
            }
            spans_.resized(spans_.size() - gone);
        }
        spans_[at] = {first, end};
    }

    /// Removes all keys.
    constexpr void clear() { spans_.clear(); }

    /// The number of blocks that hold a key, where blocks start at the multiples of `block`.
    [[nodiscard]] constexpr std::uint64_t blocks(std::uint64_t block) const {
        std::uint64_t touched = 0;
        std::uint64_t counted = 0;  // the blocks before this one are counted
        for (const key_span& span : spans_) {
            const std::uint64_t end = (span.end - 1) / block + 1;
            const std::uint64_t first = span.first / block;
            touched += end - (first < counted ? counted : first);
            counted = end;
        }
        return touched;
    }

    /// The number of seen keys before `limit`.
    [[nodiscard]] constexpr std::uint64_t before(std::uint64_t limit) const {
        std::uint64_t seen = 0;
        for (const key_span& span : spans_) {
            const std::uint64_t end = span.end < limit ? span.end : limit;
            seen += end > span.first ? end - span.first : 0;
        }
        return seen;
    }

  private:
    list<key_span> spans_;
};

/// The position `by` before `from`, at least 0.
[[nodiscard]] constexpr std::uint64_t back(std::uint64_t from, std::uint64_t by) { return from > by ? from - by : 0; }

}  // namespace floptally::detail
