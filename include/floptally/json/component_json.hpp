// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/json/detail/shown_json.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/component_times.hpp>

/// @file
/// Adapter: reads and writes measured times of components as JSON, with nlohmann_json.

namespace floptally::inline v0_3 {

/// The measured times of components in a file. `seconds` is the step's time; empty if the file has none.
struct component_times {
    std::optional<double> seconds{};
    std::vector<timed_part> times{};
};

/// Returns the times as JSON:
///
///     {"seconds": 1.6,
///      "times": [{"name": "attention", "components": ["attention.*"], "pass": "forward", "seconds": 0.3}]}
[[nodiscard]] inline nlohmann::ordered_json to_json(const component_times& measured) {
    nlohmann::ordered_json times = nlohmann::ordered_json::array();
    for (const timed_part& part : measured.times) {
        times.push_back({{"name", part.name},
                         {"components", part.components},
                         {"pass", counted_passes_names[static_cast<std::size_t>(part.timed)]},
                         {"seconds", part.seconds}});
    }
    nlohmann::ordered_json file;
    if (measured.seconds) {
        file["seconds"] = *measured.seconds;
    }
    file["times"] = times;
    return detail::with_utf8(std::move(file));
}

namespace detail {

/// Throws `error` if an object has an unknown key. In the error, the key comes after the path `field`.
inline void require_known_keys(const nlohmann::json& object, std::string_view field,
                               std::span<const std::string_view> known) {
    for (const auto& [key, unused] : object.items()) {
        std::string list;
        bool found = false;
        for (const std::string_view name : known) {
            append_item(list, name);
            found = found || name == key;
        }
        if (!found) {
            refuse(text_of({field, key}), {"is an unknown key; known: ", list});
        }
    }
}

[[nodiscard]] inline timed_part timed_part_of(const nlohmann::json& value, const std::string& field) {
    if (!value.is_object()) {
        refuse(field, {"must be an object, got ", shown(value)});
    }
    constexpr std::string_view known[] = {"name", "components", "pass", "seconds"};
    require_known_keys(value, field + ".", known);
    const auto require = [&](const char* key, bool (*fits)(const nlohmann::json&),
                             std::string_view kind) -> const nlohmann::json& {
        const auto found = value.find(key);
        if (found == value.end()) {
            refuse(text_of({field, ".", key}), {"is missing: add ", kind});
        }
        if (!fits(*found)) {
            refuse(text_of({field, ".", key}), {"must be ", kind, ", got ", shown(*found)});
        }
        return *found;
    };
    const auto is_name = [](const nlohmann::json& text) {
        return text.is_string() && !text.get_ref<const std::string&>().empty();
    };
    const auto is_number = [](const nlohmann::json& number) { return number.is_number(); };
    timed_part result{.name = require("name", is_name, "a name").get<std::string>(),
                      .seconds = require("seconds", is_number, "a number").get<double>()};
    if (value.contains("components")) {
        const nlohmann::json& list = value["components"];
        if (!list.is_array()) {
            refuse(field + ".components", {"must be a list of names, got ", shown(list)});
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (!list[i].is_string()) {
                refuse(indexed(field + ".components", i), {"must be a name, got ", shown(list[i])});
            }
            result.components.push_back(list[i].get<std::string>());
        }
    }
    if (value.contains("pass")) {
        std::size_t at = 0;
        while (at < std::size(counted_passes_names) && value["pass"] != counted_passes_names[at]) {
            ++at;
        }
        if (at == std::size(counted_passes_names)) {
            refuse(field + ".pass", {"must be train, forward or backward, got ", shown(value["pass"])});
        }
        result.timed = static_cast<counted_passes>(at);
    }
    return result;
}

}  // namespace detail

/// Reads measured times from the JSON that `to_json` writes. Throws `error` for an unknown key or a mistyped value.
[[nodiscard]] inline component_times read_component_times(const nlohmann::json& file) {
    if (!file.is_object()) {
        detail::refuse("component_times", {"must be a JSON object, got ", detail::shown(file)});
    }
    constexpr std::string_view known[] = {"seconds", "times"};
    detail::require_known_keys(file, "component_times.", known);
    component_times result;
    if (file.contains("seconds")) {
        if (!file["seconds"].is_number() || !(file["seconds"].get<double>() > 0)) {
            detail::refuse("component_times.seconds",
                           {"must be a number above 0, got ", detail::shown(file["seconds"])});
        }
        result.seconds = file["seconds"].get<double>();
    }
    if (!file.contains("times") || !file["times"].is_array() || file["times"].empty()) {
        throw error("component_times.times",
                    "must be a list of at least one time, such as {\"name\": \"mlp\", \"seconds\": 0.1}");
    }
    for (std::size_t i = 0; i < file["times"].size(); ++i) {
        result.times.push_back(detail::timed_part_of(file["times"][i], indexed("times", i)));
    }
    return result;
}

}  // namespace floptally
