// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace floptally::detail {

/// A JSON value as an error message shows it.
[[nodiscard]] inline std::string shown(const nlohmann::json& value) {
    // To dump what is nested would recurse as deep as the user's file does.
    if (std::any_of(value.begin(), value.end(),
                    [&](const nlohmann::json& e) { return &e != &value && e.is_structured(); })) {
        return value.is_array() ? "a list of lists or objects" : "an object of lists or objects";
    }
    std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
