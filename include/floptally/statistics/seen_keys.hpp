// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <floptally/integer/checked.hpp>
#include <floptally/lists/list.hpp>

/// @file
/// `seen_keys`: the ranges of keys to which some queries of a mask attend.

namespace floptally::inline v0_3 {

/// A range of keys: first … end − 1.
struct key_span {
    std::uint64_t first = 0;
    std::uint64_t end = 0;

    [[nodiscard]] friend constexpr bool operator==(const key_span&, const key_span&) = default;
};

/// The keys to which at least one query of a range of queries attends, as disjoint ranges in ascending order.
class seen_keys {
  private:
    // Private members come first: in a constant expression, clang can call a template only after the definition of the
    // template.
    //
    // Applies `mapped` to each range, and returns the number of integers in the union of the results.
    template <class Map>
    [[nodiscard]] constexpr std::uint64_t covered(Map mapped) const {
        std::uint64_t size = 0;
        std::uint64_t counted = 0;  // keys before this position have been counted
        for (const key_span& span : spans_) {
            const key_span image = mapped(span);
            const std::uint64_t end = detail::larger(image.end, counted);
            size += end - detail::larger(image.first, counted);
            counted = end;
        }
        return size;
    }

  public:
    /// Adds the keys first … end − 1. Adds nothing if first ≥ end.
    constexpr void add(std::uint64_t first, std::uint64_t end) {
        if (first >= end) {
            return;
        }
        merged_.clear();
        key_span last{first, end};  // the added range, merged with all ranges that touch it
        for (const key_span& span : spans_) {
            if (span.end < last.first) {
                merged_.push_back(span, "spans");
            } else if (last.end < span.first) {
                merged_.push_back(last, "spans");
                last = span;
            } else {
                last = {detail::smaller(last.first, span.first), detail::larger(last.end, span.end)};
            }
        }
        merged_.push_back(last, "spans");
        std::swap(spans_, merged_);
    }

    /// Removes all keys.
    constexpr void clear() { spans_.clear(); }

    /// Returns the number of blocks of `block` keys that contain at least one of these keys. Blocks start at the
    /// multiples of `block`.
    [[nodiscard]] constexpr std::uint64_t blocks(std::uint64_t block) const {
        return covered([block](const key_span& span) -> key_span {
            return {span.first / block, (span.end - 1) / block + 1};
        });
    }

    /// Returns the number of these keys before `limit`.
    [[nodiscard]] constexpr std::uint64_t before(std::uint64_t limit) const {
        return covered([limit](const key_span& span) -> key_span {
            return {detail::smaller(span.first, limit), detail::smaller(span.end, limit)};
        });
    }

  private:
    list<key_span> spans_;
    list<key_span> merged_;  // memory that the next `add` reuses
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// Returns `from` − `by`, or 0 if `by` is larger than `from`.
[[nodiscard]] constexpr std::uint64_t back(std::uint64_t from, std::uint64_t by) { return from - smaller(from, by); }

}  // namespace floptally::detail
