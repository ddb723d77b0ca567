// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/batch/context_share.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A ratio and the extremes of a rank's slice, which are reduced as integers. A mean of the ranks' ratios would weigh
/// an empty slice as much as a full one.

namespace floptally {

/// A ratio of two sums. An empty slice adds nothing to either.
class ratio {
  public:
    constexpr ratio() = default;
    constexpr ratio(std::uint64_t numerator, std::uint64_t denominator)
        : numerator_(numerator), denominator_(denominator) {
        if (denominator == 0 && numerator != 0) {
            detail::refuse("ratio", {"has ", numerator, " over 0"});
        }
    }

    constexpr ratio& operator+=(const ratio& other) {
        const std::uint64_t denominator = checked(denominator_, "ratio.denominator") + other.denominator_;
        numerator_ = checked(numerator_, "ratio.numerator") + other.numerator_;
        denominator_ = denominator;
        added_up_ += other.added_up_;
        return *this;
    }

    [[nodiscard]] constexpr std::uint64_t numerator() const { return numerator_; }
    [[nodiscard]] constexpr std::uint64_t denominator() const { return denominator_; }
    [[nodiscard]] constexpr bool empty() const { return denominator_ == 0; }

    /// The quotient; an error where the denominator is 0.
    [[nodiscard]] constexpr double value() const {
        if (empty()) {
            throw error("ratio", "has no value: every slice was empty");
        }
        return static_cast<double>(numerator_) / static_cast<double>(denominator_);
    }

    /// Marks the result of a sum over ranks, as `tally::mark_added_up` does: a second sum over them is an error.
    constexpr void mark_added_up(const added_up& over) { added_up_ = over; }
    /// The mark of `mark_added_up`, which sums keep.
    [[nodiscard]] constexpr const added_up& added_up_over() const { return added_up_; }

    [[nodiscard]] friend constexpr bool operator==(const ratio& a, const ratio& b) {
        return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
    }

  private:
    std::uint64_t numerator_ = 0;
    std::uint64_t denominator_ = 0;
    added_up added_up_{};
};

/// The least and the largest of some values, and their number. An empty slice has neither.
class extremes {
  public:
    constexpr extremes() = default;
    constexpr extremes(std::uint64_t count, std::uint64_t min, std::uint64_t max)
        : count_(count), min_(count == 0 ? no_min : min), max_(count == 0 ? 0 : max) {
        if (min_ > max_ && count != 0) {
            detail::refuse("extremes", {"the minimum, ", min, ", is above the maximum, ", max});
        }
    }

    constexpr void add(std::uint64_t value) { *this += extremes(1, value, value); }

    constexpr extremes& operator+=(const extremes& other) {
        count_ = checked(count_, "extremes.count") + other.count_;
        min_ = detail::smaller(min_, other.min_);
        max_ = detail::larger(max_, other.max_);
        added_up_ += other.added_up_;
        return *this;
    }

    [[nodiscard]] constexpr std::uint64_t count() const { return count_; }
    [[nodiscard]] constexpr bool empty() const { return count_ == 0; }
    [[nodiscard]] constexpr std::uint64_t min() const {
        require_values();
        return min_;
    }
    [[nodiscard]] constexpr std::uint64_t max() const {
        require_values();
        return max_;
    }

    /// Marks the result of a sum over ranks, as `tally::mark_added_up` does. The ends of ends are the ends, but the
    /// count would be added up twice: a second sum over the same ranks is an error.
    constexpr void mark_added_up(const added_up& over) { added_up_ = over; }
    /// The mark of `mark_added_up`, which sums keep.
    [[nodiscard]] constexpr const added_up& added_up_over() const { return added_up_; }

    [[nodiscard]] friend constexpr bool operator==(const extremes& a, const extremes& b) {
        return a.count_ == b.count_ && a.min_ == b.min_ && a.max_ == b.max_;
    }

  private:
    static constexpr std::uint64_t no_min = ~std::uint64_t{0};

    constexpr void require_values() const {
        if (empty()) {
            throw error("extremes", "have no value: every slice was empty");
        }
    }

    std::uint64_t count_ = 0;
    std::uint64_t min_ = no_min;
    std::uint64_t max_ = 0;
    added_up added_up_{};
};

}  // namespace floptally
