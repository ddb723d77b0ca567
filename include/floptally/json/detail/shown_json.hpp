// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include <floptally/text/text.hpp>

namespace floptally::detail {

/// A JSON value as an error message shows it.
[[nodiscard]] inline std::string shown(const nlohmann::json& value) {
    // To dump what is nested would recurse as deep as the user's file does.
    if (std::any_of(value.begin(), value.end(),
                    [&](const nlohmann::json& e) { return &e != &value && e.is_structured(); })) {
        return value.is_array() ? "a list of lists or objects" : "an object of lists or objects";
    }
    return shortened(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace floptally::detail
