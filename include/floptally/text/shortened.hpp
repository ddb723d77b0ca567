// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

/// @file
/// Values shortened for error messages.

namespace floptally::detail {

/// The beginning of a value for an error message, at most 60 bytes with "..." at its end where it is cut.
[[nodiscard]] inline std::string shortened(std::string text) {
    constexpr std::size_t most = 60;
    if (text.size() <= most) {
        return text;
    }
    std::size_t end = most - 3;
    while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;  // not within a UTF-8 character
    }
    return text.substr(0, end) + "...";
}

}  // namespace floptally::detail
