// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

namespace floptally::inline v0_3::detail {

/// Throws `error` at the first key or string that is not UTF-8, and shows its path: "run.spent".
template <class Json>
void require_utf8_within(const Json& value, const std::string& path) {
    if (value.is_string()) {
        require_utf8(value.template get_ref<const std::string&>(), path.empty() ? "json" : path);
    } else if (value.is_object()) {
        for (const auto& [key, inner] : value.items()) {
            require_utf8(key, path.empty() ? "json" : path);
            require_utf8_within(inner, path.empty() ? key : text_of({path, ".", key}));
        }
    } else if (value.is_array()) {
        for (const Json& inner : value) {
            require_utf8_within(inner, path);
        }
    }
}

/// Returns the JSON unchanged. Throws `error` if a name is not UTF-8; without this check `dump` would throw a type of
/// nlohmann_json.
template <class Json>
[[nodiscard]] Json with_utf8(Json value) {
    require_utf8_within(value, "");
    return value;
}

}  // namespace floptally::detail
