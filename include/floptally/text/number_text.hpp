// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#ifndef __cpp_lib_to_chars
#include <floptally/text/detail/stream_number.hpp>
#endif

/// @file
/// Converts numbers to text and back, independent of the locale.

namespace floptally::inline v0_3::detail {

[[nodiscard]] inline std::string decimal_text(double value, std::chars_format format, int digits) {
    std::array<char, 400> text{};  // the longest double has 309 digits before the point
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, digits);
    return {text.data(), end.ptr};
}

/// Returns a text such as "40.97": printf's %.2f in the C locale.
[[nodiscard]] inline std::string fixed_decimal(double value, int decimals) {
    return decimal_text(value, std::chars_format::fixed, decimals);
}

/// Returns a text such as "4.206e+09" or "0": printf's %.4g in the C locale.
[[nodiscard]] inline std::string general_decimal(double value, int digits) {
    return decimal_text(value, std::chars_format::general, digits);
}

/// Returns a text such as "1.235e+09": printf's %.3e in the C locale.
[[nodiscard]] inline std::string scientific_decimal(double value, int decimals) {
    return decimal_text(value, std::chars_format::scientific, decimals);
}

/// Returns the shortest text that reads back as the same number, such as "3.35".
[[nodiscard]] inline std::string shortest_decimal(double value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end.ptr};
}

/// Calls std::from_chars in base 10. If the standard library's from_chars reads only integers (libc++ before 20), real
/// numbers are read with a stream.
template <class Number>
[[nodiscard]] std::from_chars_result read_number(const char* first, const char* last, Number& value) {
#ifndef __cpp_lib_to_chars
    if constexpr (std::is_floating_point_v<Number>) {
        return stream_number(first, last, value);
    } else
#endif
        return std::from_chars(first, last, value);
}

/// Reads the whole `text` as one number. Returns nothing if `text` is anything else.
template <class Number>
[[nodiscard]] std::optional<Number> number_of_text(std::string_view text) {
    Number value{};
    const auto [end, problem] = read_number(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace floptally::detail
