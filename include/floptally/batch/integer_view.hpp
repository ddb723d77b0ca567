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
/// A caller's integers: of a width that is known at run time only, and as 64 bits without a sign.

namespace floptally {

/// A view of integers whose type is known at run time only, as that of a Python array: any type that a tally takes.
class integer_view {
  public:
    constexpr integer_view() = default;

    template <detail::integer_range Range>
    constexpr integer_view(const Range& range)  // NOLINT(google-explicit-constructor): a view of a range
        : numbers_(std::span{range}) {}

    /// Calls `with` with the span of integers.
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

namespace floptally::detail {

/// Integers of any width that a caller has, signed or not, as 64 bits without a sign. A negative one is an error.
template <integer_range Integers>
[[nodiscard]] std::vector<std::uint64_t> nonnegative(const Integers& integers, std::string_view field) {
    const std::span given{integers};
    std::vector<std::uint64_t> values;
    values.reserve(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (std::cmp_less(given[i], 0)) {
            throw error(indexed(field, i), "must be at least 0, got " + std::to_string(given[i]));
        }
        values.push_back(static_cast<std::uint64_t>(given[i]));
    }
    return values;
}

/// Such integers, each of which must be below `bound`, which the error calls `bound_name`.
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
