// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/text.hpp>
#include <floptally/error.hpp>

/// @file
/// Integers that never wrap. In a constant expression an overflow is a compile error; at run time it throws
/// `floptally::overflow`. Host only: device code cannot throw and uses total functions with a sticky error word.

namespace floptally {

__extension__ typedef unsigned __int128 uint128;

namespace detail {

/// Out of the way of the sum or product that did fit.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_overflow(std::uint64_t a, const char* operation,
                                                                  std::uint64_t b, std::string_view field) {
    throw overflow(field, text_of({a, operation, b, " does not fit 64 bits"}));
}

}  // namespace detail

/// a + b, or `overflow` naming `field`.
[[nodiscard]] constexpr std::uint64_t checked_add(std::uint64_t a, std::uint64_t b, std::string_view field) {
    const std::uint64_t sum = a + b;
    if (sum < a) {
        detail::throw_overflow(a, " + ", b, field);
    }
    return sum;
}

/// a · b, or `overflow` naming `field`.
[[nodiscard]] constexpr std::uint64_t checked_multiply(std::uint64_t a, std::uint64_t b, std::string_view field) {
    const uint128 product = uint128{a} * b;
    if ((product >> 64) != 0) {
        detail::throw_overflow(a, " x ", b, field);
    }
    return static_cast<std::uint64_t>(product);
}

/// Decimal digits of a 128-bit integer.
[[nodiscard]] inline std::string to_string(uint128 value) {
    char digits[39];
    std::size_t at = sizeof digits;
    do {
        digits[--at] = static_cast<char>('0' + static_cast<int>(value % 10U));
        value /= 10U;
    } while (value != 0);
    return {digits + at, sizeof digits - at};
}

}  // namespace floptally
