// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include <floptally/text/text.hpp>

namespace floptally::inline v0_3::detail {

/// Formats a JSON value for an error message.
[[nodiscard]] inline std::string shown(const nlohmann::json& value) {
    // Nested values are not shown, because printing them recurses, and a file may be nested too deep for that.
    if (std::any_of(value.begin(), value.end(),
                    [&](const nlohmann::json& e) { return &e != &value && e.is_structured(); })) {
        return value.is_array() ? "a list of lists or objects" : "an object of lists or objects";
    }
    return shortened(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace floptally::detail
