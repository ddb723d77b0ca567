// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <floptally/config/detail/function_call.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/expression_parser.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Functions of numbers that pages may call.

namespace floptally::detail::pages {

inline value ceil_of(const function_call& c) {
    if (c.given.size() == 1) {
        return c.whole(std::ceil(c.real(0)));
    }
    if (c.number(1) < 1 || c.number(0) < 0) {
        c.fail({"must divide by a number of at least 1"});
    }
    return number_value((c.number(0) + c.number(1) - 1) / c.number(1));
}
inline value floor_of(const function_call& c) { return c.whole(std::floor(c.real(0))); }
/// A number rounded to the nearest; halves go to the even neighbour, as in Python.
inline value round_of(const function_call& c) { return c.whole(std::nearbyint(c.real(0))); }
inline value min_of(const function_call& c) {
    return number_value(c.number(0) < c.number(1) ? c.number(0) : c.number(1));
}
inline value max_of(const function_call& c) {
    return number_value(c.number(0) > c.number(1) ? c.number(0) : c.number(1));
}
inline value power_of(const function_call& c) {
    std::int64_t power = 1;
    for (std::int64_t k = 0; k < c.number(1); ++k) {
        if (__builtin_mul_overflow(power, c.number(0), &power) || power > max_number || k > 62) {
            c.fail({"beyond 2^62"});
        }
    }
    return number_value(power);
}
/// The largest whole number whose square is at most the argument.
inline value root_of(const function_call& c) {
    const std::int64_t square = c.number(0);
    std::int64_t root = 0;
    while (root < 0x7FFF && (root + 1) * (root + 1) <= square) {
        ++root;
    }
    return number_value(root);
}

/// entries(object): the list key, value, key, value … of an object of integers, whose keys are integers too.
inline value entries_of(const function_call& c) {
    const config_node* object = c.given[0].given;
    if (object == nullptr || object->type != config_node::kind::object) {
        c.fail({"takes an object, got ", c.in.shown(c.given[0])});
    }
    const vector<std::int64_t> values = c.numbers(0);
    vector<value> all;
    for (std::size_t k = 0; k < values.size(); ++k) {
        const std::string& key = c.in.config().tree().child(*object, k).key;
        std::int64_t number = 0;
        const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), number);
        if (problem != std::errc{} || end != key.data() + key.size()) {
            refuse(c.in.config().field(object->key), {"keys must be integers, got \"", shortened(key), "\""});
        }
        all.push_back(number_value(number));
        all.push_back(number_value(values[k]));
    }
    return c.in.list_of(std::move(all));
}
/// divisible(x, by, least): the multiple of a number that is nearest to x, at least `least` (else that number) and no
/// more than a tenth below x: as families of small networks round their channels.
inline value divisible_of(const function_call& c) {
    const double x = c.given[0].as_real();
    const std::int64_t by = c.number(1);
    if (by < 1 || !(x >= 0 && x < 1e9)) {
        c.fail({"takes a number from 0 to 10^9, and one of at least 1"});
    }
    const auto nearest = static_cast<std::int64_t>(x + static_cast<double>(by) / 2) / by * by;
    const std::int64_t made = nearest < c.number_or(2, by) ? c.number_or(2, by) : nearest;
    return number_value(static_cast<double>(made) < 0.9 * x ? made + by : made);
}
/// scaled(list, n): each number of a list times n, rounded up.
inline value scaled_of(const function_call& c) {
    vector<value> all;
    for (const std::int64_t element : c.numbers(0)) {
        std::int64_t product = 0;
        if (c.given[1].type == value::kind::real) {
            const double scaled = std::ceil(static_cast<double>(element) * c.given[1].as_real());
            if (!(scaled > -1e9 && scaled < 1e9)) {
                c.fail({"makes a number beyond 10^9"});
            }
            product = static_cast<std::int64_t>(scaled);
        } else if (__builtin_mul_overflow(element, c.number(1), &product) || product > max_number ||
                   product < -max_number) {
            c.fail({"makes a number beyond 2^62"});
        }
        all.push_back(number_value(product));
    }
    return c.in.list_of(std::move(all));
}
/// halvings(n): how often a number can be halved, rounded down, until it is 1.
inline value halvings_of(const function_call& c) {
    std::int64_t found = 0;
    for (std::int64_t n = c.number(0); n > 1; n /= 2) {
        ++found;
    }
    return number_value(found);
}

}  // namespace floptally::detail::pages
