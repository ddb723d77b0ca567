// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/detail/pages/expression_parser.hpp>
#include <floptally/detail/pages/page.hpp>
#include <floptally/detail/pages/value.hpp>

/// @file
/// Signs between two values.

namespace floptally::detail::pages {

/// Equal in kind and worth; an integer and a real of the same worth are equal too.
[[nodiscard]] inline bool same_value(const value& a, const value& b) {
    if (a.is == value::kind::real || b.is == value::kind::real) {
        const auto is_number = [](const value& one) { return one.counts() || one.is == value::kind::real; };
        return is_number(a) && is_number(b) && a.as_real() == b.as_real();  // a config may write 1 for 1.0
    }
    if (a.is != b.is || a.number != b.number || a.text != b.text || a.given != b.given ||
        (a.is == value::kind::mask && !(a.attends == b.attends)) || (a.items == nullptr) != (b.items == nullptr)) {
        return false;
    }
    bool equal = a.items == nullptr || a.items->size() == b.items->size();
    for (std::size_t i = 0; equal && a.items != b.items && i < a.items->size(); ++i) {
        equal = same_value((*a.items)[i], (*b.items)[i]);
    }
    return equal;
}

/// A sum, a product or the like of two numbers; `problem` says why there is none.
[[nodiscard]] inline value computed(op sign, const value& a, const value& b, std::string& problem) {
    const bool divides = sign == op::divide || sign == op::remainder;
    if (divides && b.as_real() == 0) {
        problem = "divides by zero";
        return {};
    }
    if (a.is == value::kind::real || b.is == value::kind::real) {
        const double x = a.as_real();
        const double y = b.as_real();
        if (sign == op::remainder) {
            problem = "a remainder of numbers that are no integers";
            return {};
        }
        return real_value(sign == op::add        ? x + y
                          : sign == op::subtract ? x - y
                          : sign == op::multiply ? x * y
                                                 : x / y);
    }
    if (divides) {
        if (a.number < 0 || b.number < 0) {
            problem = "divides a number below zero";
            return {};
        }
        return number_value(sign == op::divide ? a.number / b.number : a.number % b.number);
    }
    std::int64_t sum = 0;
    const bool wraps = sign == op::add        ? __builtin_add_overflow(a.number, b.number, &sum)
                       : sign == op::subtract ? __builtin_sub_overflow(a.number, b.number, &sum)
                                              : __builtin_mul_overflow(a.number, b.number, &sum);
    if (wraps || sum > max_number || sum < -max_number) {
        problem = std::to_string(a.number) + " and " + std::to_string(b.number) + " make a number beyond 2^62";
        return {};
    }
    return number_value(sum);
}

}  // namespace floptally::detail::pages
