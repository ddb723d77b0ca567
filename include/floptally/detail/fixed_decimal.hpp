// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace floptally::detail {

/// "40.97": what printf writes for %.2f in the C locale, whatever the locale of the program is.
[[nodiscard]] inline std::string fixed_decimal(double value, int decimals) {
    std::array<char, 400> text{};  // the longest double has 309 digits before the point
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, decimals);
    return {text.data(), end.ptr};
}

}  // namespace floptally::detail
