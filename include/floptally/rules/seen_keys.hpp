// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <floptally/integer/checked.hpp>
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

/// The keys that consecutive rows see together, as disjoint spans in the order of their keys.
class seen_keys {
  private:  // first, since clang evaluates templates in constant expressions only where they stand above their use
    /// The size of the union of what `of_span` makes of each span.
    template <class Make>
    [[nodiscard]] constexpr std::uint64_t covered(Make of_span) const {
        std::uint64_t size = 0;
        std::uint64_t counted = 0;  // all that is before this
        for (const key_span& span : spans_) {
            const key_span made = of_span(span);
            const std::uint64_t end = larger(made.end, counted);
            size += end - larger(made.first, counted);
            counted = end;
        }
        return size;
    }

  public:
    /// Adds the keys first … end − 1; nothing where first ≥ end.
    constexpr void add(std::uint64_t first, std::uint64_t end) {
        if (first >= end) {
            return;
        }
        merged_.clear();
        key_span last{first, end};  // what it touches becomes one with it
        for (const key_span& span : spans_) {
            if (span.end < last.first) {
                merged_.push_back(span, "spans");
            } else if (last.end < span.first) {
                merged_.push_back(last, "spans");
                last = span;
            } else {
                last = {smaller(last.first, span.first), larger(last.end, span.end)};
            }
        }
        merged_.push_back(last, "spans");
        std::swap(spans_, merged_);
    }

    /// Removes all keys.
    constexpr void clear() { spans_.clear(); }

    /// The number of blocks that hold a key, where blocks start at the multiples of `block`.
    [[nodiscard]] constexpr std::uint64_t blocks(std::uint64_t block) const {
        return covered([block](const key_span& span) -> key_span {
            return {span.first / block, (span.end - 1) / block + 1};
        });
    }

    /// The number of seen keys before `limit`.
    [[nodiscard]] constexpr std::uint64_t before(std::uint64_t limit) const {
        return covered([limit](const key_span& span) -> key_span {
            return {smaller(span.first, limit), smaller(span.end, limit)};
        });
    }

  private:
    list<key_span> spans_;
    list<key_span> merged_;  // memory for the next
};

/// The position `by` before `from`, at least 0.
[[nodiscard]] constexpr std::uint64_t back(std::uint64_t from, std::uint64_t by) { return from - smaller(from, by); }

}  // namespace floptally::detail
