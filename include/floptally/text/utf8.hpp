// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// @file
/// Checks that texts are UTF-8 (RFC 3629), as JSON requires.

namespace floptally::inline v0_3::detail {

/// Returns the number of bytes of the first character in a text, or 0 if the text does not begin with a valid
/// character.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) {
    const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned first = byte(0);
    if (first < 0x80) {
        return text.empty() ? 0 : 1;
    }
    const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    // The allowed values of the second byte exclude overlong encodings, surrogates, and characters above
    // U+10FFFF.
    const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    bool is_whole = length != 0 && byte(1) >= least && byte(1) <= most;
    for (std::size_t i = 2; i < length; ++i) {
        is_whole = is_whole && byte(i) >= 0x80 && byte(i) <= 0xBF;
    }
    return is_whole ? length : 0;
}

[[nodiscard]] constexpr bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace floptally::detail
