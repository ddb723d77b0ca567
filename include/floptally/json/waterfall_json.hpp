// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/text/version.hpp>
#include <floptally/waterfall/component_comparison.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_line.hpp>

/// @file
/// Adapter: writes waterfalls (where a step's time goes) as JSON, with nlohmann_json. Also writes the time of a step by
/// component.

namespace floptally::inline v0_3 {

/// Returns a waterfall as JSON. Nanoseconds over all GPUs are decimal strings that add up to `seconds` x `gpus`. Values
/// of `share` are fractions of the peak.
[[nodiscard]] inline nlohmann::ordered_json to_json(const waterfall& shown) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const waterfall_line& line : shown.lines()) {
        lines.push_back({{"step", name_of(line.step)},
                         {"name", line.name},
                         {"known", line.is_known},
                         {"gpu_nanoseconds", std::to_string(line.gpu_nanoseconds)},
                         {"share_of_peak", line.share},
                         {"assumed", line.assumed},
                         {"usually_helps", usual_help(line.step)}});
    }
    nlohmann::ordered_json out{{"version", version},
                               {"numbers_version", numbers_version},
                               {"seconds", shown.seconds()},
                               {"gpus", shown.gpus()},
                               {"mfu", shown.mfu()},
                               {"kernel_rate", shown.kernel_rate()},
                               {"not_known", shown.unknown()},
                               {"memory_share", shown.memory_share()},
                               {"communication_seconds", shown.communication()},
                               {"lines", lines}};
    return detail::with_utf8(std::move(out));
}

/// Returns how each rank spent the time of its step, as JSON with times in seconds.
[[nodiscard]] inline nlohmann::ordered_json to_json(const std::vector<rank_line>& lines) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const rank_line& line : lines) {
        ranks.push_back({{"seconds", line.seconds},
                         {"computing", line.computing},
                         {"besides", line.other},
                         {"transfer", line.transfer},
                         {"waiting", line.waiting},
                         {"idle", line.idle},
                         {"hidden", line.hidden}});
    }
    return detail::with_utf8(std::move(ranks));
}

/// Returns the comparison of two steps by component as JSON, in seconds of one GPU. A time is null if that step has no
/// line for the component.
[[nodiscard]] inline nlohmann::ordered_json to_json(const std::vector<compared_component>& all) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    const auto number = [](const std::optional<double>& seconds) {
        return seconds ? nlohmann::ordered_json(*seconds) : nlohmann::ordered_json();
    };
    for (const compared_component& component : all) {
        lines.push_back({{"name", component.name},
                         {"pass", counted_passes_names[static_cast<std::size_t>(component.timed)]},
                         {"before", number(component.before)},
                         {"after", number(component.after)},
                         {"slower", component.slower()},
                         {"kernel_rate_before", component.rate_before},
                         {"kernel_rate_after", component.rate_after}});
    }
    return detail::with_utf8(std::move(lines));
}

/// Returns the time of each component of a step as JSON. Nanoseconds over all GPUs are decimal strings. The values of
/// `lost` add up to the time that the step would save at an MFU of 100 %. `points_lost` has percentage points of the
/// MFU. `share_of_time` is a fraction of the step's time.
[[nodiscard]] inline nlohmann::ordered_json to_json(const component_waterfall& shown) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const component_line& line : shown.lines()) {
        lines.push_back({{"name", line.name},
                         {"components", line.components},
                         {"pass", counted_passes_names[static_cast<std::size_t>(line.timed)]},
                         {"timed", line.is_timed},
                         {"gpu_nanoseconds", std::to_string(line.gpu_nanoseconds)},
                         {"useful", std::to_string(line.useful_nanoseconds)},
                         {"executed", std::to_string(line.executed_nanoseconds)},
                         {"lost", std::to_string(line.lost())},
                         {"points_lost", shown.points(line.lost())},
                         {"share_of_time", line.share},
                         {"mfu", line.mfu},
                         {"kernel_rate", line.kernel_rate}});
    }
    return detail::with_utf8(std::move(lines));
}

}  // namespace floptally
