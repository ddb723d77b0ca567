// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/config/detail/value.hpp>
#include <floptally/page_language/expression_parser.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Operators between two values of a page.

namespace floptally::detail::pages {

/// True where two values have equal kind and worth; an integer equals a real of the same worth.
[[nodiscard]] inline bool same_value(const value& a, const value& b) {
    if (a.type == value::kind::real || b.type == value::kind::real) {
        const auto is_number = [](const value& item) { return item.is_whole() || item.type == value::kind::real; };
        return is_number(a) && is_number(b) && a.as_real() == b.as_real();  // a config may write 1 for 1.0
    }
    if (a.type != b.type || a.number != b.number || a.text != b.text || a.given != b.given ||
        (a.type == value::kind::mask && !(a.attends == b.attends)) || (a.items == nullptr) != (b.items == nullptr)) {
        return false;
    }
    bool equal = a.items == nullptr || a.items->size() == b.items->size();
    for (std::size_t i = 0; equal && a.items != b.items && i < a.items->size(); ++i) {
        equal = same_value((*a.items)[i], (*b.items)[i]);
    }
    return equal;
}

/// The result of an arithmetic operator on two numbers; where there is none, `problem` is set to the reason.
[[nodiscard]] inline value computed(op sign, const value& a, const value& b, std::string& problem) {
    const bool divides = sign == op::divide || sign == op::remainder;
    if (divides && b.as_real() == 0) {
        problem = "divides by zero";
        return {};
    }
    if (a.type == value::kind::real || b.type == value::kind::real) {
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
        problem = text_of({a.number, " and ", b.number, " make a number beyond 2^62"});
        return {};
    }
    return number_value(sum);
}

}  // namespace floptally::detail::pages
