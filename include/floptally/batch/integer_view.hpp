// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <floptally/batch/length_sums.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `integer_view`: a view of a caller's integers whose type is known only at run time. `nonnegative`: a copy of a
/// caller's integers as unsigned 64-bit integers.

namespace floptally::inline v0_3 {

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

  private:
    std::variant<std::span<const std::int64_t>, std::span<const std::int32_t>, std::span<const std::uint64_t>,
                 std::span<const std::uint32_t>>
        numbers_;
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

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
