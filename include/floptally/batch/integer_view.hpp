// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include <floptally/batch/length_sums.hpp>

/// @file
/// Integers of a width that is known at run time only.

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
