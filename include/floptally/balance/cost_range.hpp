// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>

/// @file
/// `cost_range`: the lists of costs that `partition` and other functions of load balancing accept.

namespace floptally::inline v0_3 {

/// A type that costs can have: integers (such as FLOPs, tokens or patches) or floating-point numbers (such as seconds).
template <class T>
concept balance_cost = (std::integral<T> && !std::same_as<T, bool>) || std::same_as<T, uint128> ||
                       std::same_as<T, flops> || std::same_as<T, float> || std::same_as<T, double>;

namespace detail {

template <class Range>
using cost_of_range = std::remove_cv_t<typename decltype(std::span{std::declval<const Range&>()})::element_type>;

}  // namespace detail

/// A contiguous range of costs: std::vector, std::array, std::span, a C array.
template <class Range>
concept cost_range = requires(const Range& range) {
    std::span{range};
}
&&balance_cost<detail::cost_of_range<Range>>;

}  // namespace floptally::inline v0_3
