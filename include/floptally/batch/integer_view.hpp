// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <floptally/batch/length_sums.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `integer_view`: a view of a caller's integers whose type is known only at run time. `visit_both`: two such views as
/// spans of one type. `nonnegative`: a copy of a caller's integers as unsigned 64-bit integers.

namespace floptally::inline v0_3 {

class tally;

/// A view of integers whose type is known only at run time, such as a Python array. It holds any type that a tally
/// accepts.
class integer_view {
  public:
    constexpr integer_view() = default;

    template <integer_range Range>
    constexpr integer_view(const Range& range)  // NOLINT(google-explicit-constructor): a view of a range
        : numbers_(std::span{range}) {}

    /// Calls `with` with the integers as a `std::span` of their type, such as `std::span<const std::int32_t>`.
    template <class With>
    constexpr decltype(auto) visit(With with) const {
        return std::visit(with, numbers_);
    }

    [[nodiscard]] constexpr std::size_t size() const {
        return visit([](const auto& numbers) { return numbers.size(); });
    }

    /// Returns true if the integers have this type.
    template <class Integer>
    [[nodiscard]] constexpr bool holds() const {
        return std::holds_alternative<std::span<const Integer>>(numbers_);
    }

  private:
    std::variant<std::span<const std::int64_t>, std::span<const std::int32_t>, std::span<const std::uint64_t>,
                 std::span<const std::uint32_t>>
        numbers_;
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// The integers of a view as a span of one type. Copies integers of another type. A copied integer that does not fit
/// the type becomes the nearest integer that does.
template <class Integer>
class integers_as {
  public:
    explicit integers_as(const integer_view& from) {
        from.visit([this](const auto& numbers) {
            if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(numbers)>::value_type, Integer>) {
                numbers_ = numbers;
            } else {
                using limits = std::numeric_limits<Integer>;
                copies_.reserve(numbers.size());
                for (const auto number : numbers) {
                    copies_.push_back(std::cmp_less(number, limits::min())      ? limits::min()
                                      : std::cmp_greater(number, limits::max()) ? limits::max()
                                                                                : static_cast<Integer>(number));
                }
                numbers_ = copies_;
            }
        });
    }

    [[nodiscard]] const std::span<const Integer>& get() const { return numbers_; }

  private:
    std::vector<Integer> copies_;
    std::span<const Integer> numbers_;
};

/// Returns true if every integer of the view fits `Integer`.
template <class Integer>
[[nodiscard]] bool all_fit(const integer_view& view) {
    return view.visit([](const auto& numbers) {
        return std::all_of(numbers.begin(), numbers.end(),
                           [](const auto number) { return std::in_range<Integer>(number); });
    });
}

/// Calls `with` with the integers of two views, as two spans of one type: `std::int32_t`, `std::int64_t` or
/// `std::uint64_t`. Copies integers of other types. So the call is compiled for three pairs of types instead of
/// sixteen.
///
/// If one view has a negative integer and the other view has an integer above 2^63 - 1, the large integer becomes 2^63
/// - 1. No valid batch has such integers.
template <class With>
void visit_both(const integer_view& first, const integer_view& second, With with) {
    const auto as = [&]<class Integer>(Integer /*type*/) {
        with(integers_as<Integer>(first).get(), integers_as<Integer>(second).get());
    };
    if (first.holds<std::int32_t>() && second.holds<std::int32_t>()) {
        as(std::int32_t{});
    } else if ((first.holds<std::uint64_t>() && all_fit<std::uint64_t>(second)) ||
               (second.holds<std::uint64_t>() && all_fit<std::uint64_t>(first))) {
        as(std::uint64_t{});
    } else {
        as(std::int64_t{});
    }
}

/// Calls `with` with the integers of a view for a receiver of batches. A tally gets the integers in their own type,
/// without a copy. For other receivers 32-bit integers are copied as 64-bit integers, so that the call is compiled for
/// two types instead of four.
template <class Receiver, class With>
void visit_for(const integer_view& numbers, With with) {
    if constexpr (std::is_same_v<Receiver, tally>) {
        numbers.visit(with);
    } else if (numbers.holds<std::uint64_t>()) {
        with(integers_as<std::uint64_t>(numbers).get());
    } else {
        with(integers_as<std::int64_t>(numbers).get());
    }
}

/// Converts a caller's integers to unsigned 64 bits. Throws `error` for a negative integer.
template <integer_range Integers>
[[nodiscard]] std::vector<std::uint64_t> nonnegative(const Integers& integers, std::string_view field) {
    const std::span numbers{integers};
    std::vector<std::uint64_t> values;
    values.reserve(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (std::cmp_less(numbers[i], 0)) {
            throw error(indexed(field, i), "must be at least 0, got " + std::to_string(numbers[i]));
        }
        values.push_back(static_cast<std::uint64_t>(numbers[i]));
    }
    return values;
}

/// Converts a caller's integers to unsigned 64 bits. Throws `error` for a negative integer and for one that is not
/// below `bound`. The error calls the bound `bound_name`.
template <integer_range Integers>
[[nodiscard]] std::vector<std::uint64_t> nonnegative_below(std::uint64_t bound, std::string_view bound_name,
                                                           const Integers& integers, std::string_view field) {
    std::vector<std::uint64_t> values = nonnegative(integers, field);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] >= bound) {
            require_below(bound, bound_name, values[i], indexed(field, i));
        }
    }
    return values;
}

}  // namespace floptally::detail
