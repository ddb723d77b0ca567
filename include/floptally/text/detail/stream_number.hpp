// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

/// @file
/// Reads real numbers for standard libraries whose std::from_chars reads only integers: libc++ before 20.

namespace floptally::inline v0_3::detail {

/// Returns the length of the longest prefix of `text` that is a decimal number ("-1.5e-3").
[[nodiscard]] constexpr std::size_t decimal_length(std::string_view text) {
    const auto digits = [text](std::size_t at) {
        const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
        return end > at ? end - at : 0;
    };
    std::size_t at = text.starts_with('-') ? 1 : 0;
    const std::size_t whole = digits(at);
    at += whole;
    std::size_t parts = 0;
    if (at < text.size() && text[at] == '.') {
        parts = digits(at + 1);
        at += whole + parts != 0 ? 1 + parts : 0;
    }
    if (whole + parts == 0) {
        return 0;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        const std::size_t sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? 1 : 0;
        const std::size_t exponent = digits(at + 1 + sign);
        at += exponent != 0 ? 1 + sign + exponent : 0;
    }
    return at;
}

/// Replaces std::from_chars for a real number. Reads it with a stream.
[[nodiscard]] inline std::from_chars_result stream_number(const char* first, const char* last, double& value) {
    const std::size_t length = decimal_length({first, static_cast<std::size_t>(last - first)});
    std::istringstream stream(std::string(first, length));
    stream.imbue(std::locale::classic());
    double read = 0;
    if (length == 0) {
        return {first, std::errc::invalid_argument};
    }
    const std::string_view text(first, length);
    const bool is_zero = text.substr(0, text.find_first_of("eE")).find_first_of("123456789") == std::string_view::npos;
    if (!(stream >> read) || (read == 0 && !is_zero)) {
        return {first + length, std::errc::result_out_of_range};
    }
    value = read;
    return {first + length, std::errc{}};
}

}  // namespace floptally::detail
