// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/config/detail/value.hpp>
#include <floptally/spec_language/expression_parser.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Compares values of a spec, and applies arithmetic operators to them.

namespace floptally::inline v0_3::detail::specs {

/// Returns true if two values have the same type and value. An integer equals a real number of the same value.
[[nodiscard]] inline bool same_value(const value& a, const value& b) {
    if (a.type == value::kind::real || b.type == value::kind::real) {
        const auto is_number = [](const value& item) { return item.is_whole() || item.type == value::kind::real; };
        return is_number(a) && is_number(b) &&
               a.as_real() == b.as_real();  // 1 equals 1.0, because a config may contain either.
    }
    if (a.type != b.type || a.number != b.number || a.text != b.text || a.node != b.node ||
        (a.type == value::kind::mask && !(a.attends == b.attends)) || (a.items == nullptr) != (b.items == nullptr)) {
        return false;
    }
    bool equal = a.items == nullptr || a.items->size() == b.items->size();
    for (std::size_t i = 0; equal && a.items != b.items && i < a.items->size(); ++i) {
        equal = same_value((*a.items)[i], (*b.items)[i]);
    }
    return equal;
}

/// Returns the result of an arithmetic operator on two numbers. Sets `problem` to the reason if there is no result.
[[nodiscard]] inline value computed(op sign, const value& a, const value& b, std::string& problem) {
    const bool divides = sign == op::divide || sign == op::remainder;
    if (divides && b.as_real() == 0) {
        problem = "divides by zero; test the divisor before, as in `b == 0 ? 0 : a / b`";
        return {};
    }
    if (a.type == value::kind::real || b.type == value::kind::real) {
        const double x = a.as_real();
        const double y = b.as_real();
        if (sign == op::remainder) {
            problem = "takes the remainder (%) of a number that is not an integer; use integers";
            return {};
        }
        return real_value(sign == op::add        ? x + y
                          : sign == op::subtract ? x - y
                          : sign == op::multiply ? x * y
                                                 : x / y);
    }
    if (divides) {
        if (a.number < 0 || b.number < 0) {
            problem = "divides a number below zero; use numbers of at least 0";
            return {};
        }
        return number_value(sign == op::divide ? a.number / b.number : a.number % b.number);
    }
    std::int64_t sum = 0;
    const bool wraps = sign == op::add        ? __builtin_add_overflow(a.number, b.number, &sum)
                       : sign == op::subtract ? __builtin_sub_overflow(a.number, b.number, &sum)
                                              : __builtin_mul_overflow(a.number, b.number, &sum);
    if (wraps || sum > max_number || sum < -max_number) {
        problem = text_of({"gives a number above 2^62; use smaller arguments of ", a.number, " and ", b.number,
                           "; use smaller ones"});
        return {};
    }
    return number_value(sum);
}

}  // namespace floptally::detail::specs
