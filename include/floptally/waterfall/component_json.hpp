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

#include <floptally/detail/shortened.hpp>
#include <floptally/error.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/waterfall/component_times.hpp>

namespace floptally {

/// Times of components as a file has them; `seconds` of the step where it says them.
struct component_times {
    std::optional<double> seconds{};
    std::vector<timed_part> times{};
};

/// A step by component as JSON. Nanoseconds over all GPUs are decimal strings; those of `lost` add up to what the MFU
/// lacks. Points are of the MFU, shares of the step's time.
[[nodiscard]] inline nlohmann::ordered_json to_json(const component_waterfall& made) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const component_line& one : made.lines()) {
        lines.push_back({{"name", one.name},
                         {"components", one.components},
                         {"pass", counted_passes_names[static_cast<std::size_t>(one.timed)]},
                         {"timed", one.is_timed},
                         {"gpu_nanoseconds", std::to_string(one.gpu_nanoseconds)},
                         {"useful", std::to_string(one.useful_nanoseconds)},
                         {"executed", std::to_string(one.executed_nanoseconds)},
                         {"lost", std::to_string(one.lost())},
                         {"points_lost", made.points(one.lost())},
                         {"share_of_time", one.share},
                         {"mfu", one.mfu},
                         {"kernel_rate", one.kernel_rate}});
    }
    return lines;
}

/// {"seconds": 1.6, "times": [{"name": "attention", "components": ["attention.*"], "pass": "forward", "seconds": 0.3}]}
[[nodiscard]] inline nlohmann::ordered_json to_json(const component_times& made) {
    nlohmann::ordered_json times = nlohmann::ordered_json::array();
    for (const timed_part& one : made.times) {
        times.push_back({{"name", one.name},
                         {"components", one.components},
                         {"pass", counted_passes_names[static_cast<std::size_t>(one.timed)]},
                         {"seconds", one.seconds}});
    }
    nlohmann::ordered_json file;
    if (made.seconds) {
        file["seconds"] = *made.seconds;
    }
    file["times"] = times;
    return file;
}

namespace detail {

inline void require_known_keys(const nlohmann::json& object, const std::string& field,
                               std::span<const std::string_view> known) {
    for (const auto& [key, unused] : object.items()) {
        std::string list;
        bool found = false;
        for (const std::string_view name : known) {
            append_item(list, name);
            found = found || name == key;
        }
        if (!found) {
            throw error(field + key, "is no key of a file of times: " + list);
        }
    }
}

/// Text that may be any bytes, as an error shows it.
[[nodiscard]] inline std::string shown_value(const nlohmann::json& value) {
    return shortened(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

[[nodiscard]] inline timed_part timed_part_of(const nlohmann::json& one, const std::string& field) {
    if (!one.is_object()) {
        throw error(field, "must be an object, got " + shown_value(one));
    }
    constexpr std::string_view known[] = {"name", "components", "pass", "seconds"};
    require_known_keys(one, field + ".", known);
    timed_part made;
    if (!one.contains("name") || !one["name"].is_string() || one["name"].get_ref<const std::string&>().empty()) {
        throw error(field + ".name", one.contains("name") ? "must be a name, got " + shown_value(one["name"])
                                                          : std::string("is missing"));
    }
    made.name = one["name"].get<std::string>();
    if (!one.contains("seconds") || !one["seconds"].is_number()) {
        throw error(field + ".seconds", one.contains("seconds") ? "must be a number, got " + shown_value(one["seconds"])
                                                                : std::string("is missing"));
    }
    made.seconds = one["seconds"].get<double>();
    if (one.contains("components")) {
        const nlohmann::json& list = one["components"];
        if (!list.is_array()) {
            throw error(field + ".components", "must be a list of names, got " + shown_value(list));
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (!list[i].is_string()) {
                throw error(indexed(field + ".components", i), "must be a name, got " + shown_value(list[i]));
            }
            made.components.push_back(list[i].get<std::string>());
        }
    }
    if (one.contains("pass")) {
        std::size_t at = 0;
        while (at < std::size(counted_passes_names) && one["pass"] != counted_passes_names[at]) {
            ++at;
        }
        if (at == std::size(counted_passes_names)) {
            throw error(field + ".pass", "must be train, forward or backward, got " + shown_value(one["pass"]));
        }
        made.timed = static_cast<counted_passes>(at);
    }
    return made;
}

}  // namespace detail

/// What `to_json` writes, read. A key that it does not have is an error.
[[nodiscard]] inline component_times read_component_times(const nlohmann::json& file) {
    if (!file.is_object()) {
        throw error("component_times", "must be a JSON object, got " + detail::shown_value(file));
    }
    constexpr std::string_view known[] = {"seconds", "times"};
    detail::require_known_keys(file, "component_times.", known);
    component_times made;
    if (file.contains("seconds")) {
        if (!file["seconds"].is_number() || !(file["seconds"].get<double>() > 0)) {
            throw error("component_times.seconds",
                        "must be a number above 0, got " + detail::shown_value(file["seconds"]));
        }
        made.seconds = file["seconds"].get<double>();
    }
    if (!file.contains("times") || !file["times"].is_array() || file["times"].empty()) {
        throw error("component_times.times", "must be a list of at least one time");
    }
    for (std::size_t i = 0; i < file["times"].size(); ++i) {
        made.times.push_back(detail::timed_part_of(file["times"][i], indexed("times", i)));
    }
    return made;
}

}  // namespace floptally
