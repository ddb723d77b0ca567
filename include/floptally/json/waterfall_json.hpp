// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/text/version.hpp>
#include <floptally/waterfall/component_comparison.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_line.hpp>

/// @file
/// Adapter: a waterfall and a step by component as JSON, with nlohmann_json.

namespace floptally {

/// A waterfall as JSON. Nanoseconds over all GPUs are decimal strings, which add up to `seconds` x `gpus`; shares are
/// numbers, of the peak.
[[nodiscard]] inline nlohmann::ordered_json to_json(const waterfall& made) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const waterfall_line& line : made.lines()) {
        lines.push_back({{"step", name_of(line.what)},
                         {"name", line.name},
                         {"known", line.is_known},
                         {"gpu_nanoseconds", std::to_string(line.gpu_nanoseconds)},
                         {"share_of_peak", line.share},
                         {"assumed", line.assumed},
                         {"usually_helps", usual_help(line.what)}});
    }
    return {{"version", version},
            {"numbers_version", numbers_version},
            {"seconds", made.seconds()},
            {"gpus", made.gpus()},
            {"mfu", made.mfu()},
            {"kernel_rate", made.kernel_rate()},
            {"not_known", made.unknown()},
            {"memory_share", made.memory_share()},
            {"communication_seconds", made.communication()},
            {"lines", lines}};
}

/// The ranks' own steps as JSON, in seconds.
[[nodiscard]] inline nlohmann::ordered_json to_json(const std::vector<rank_line>& lines) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const rank_line& line : lines) {
        ranks.push_back({{"seconds", line.seconds},
                         {"computing", line.computing},
                         {"besides", line.besides},
                         {"transfer", line.transfer},
                         {"waiting", line.waiting},
                         {"idle", line.idle},
                         {"hidden", line.hidden}});
    }
    return ranks;
}

/// Two steps by component as JSON, in seconds of one GPU; null where a step has no such line.
[[nodiscard]] inline nlohmann::ordered_json to_json(const std::vector<compared_component>& all) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    const auto number = [](const std::optional<double>& seconds) {
        return seconds ? nlohmann::ordered_json(*seconds) : nlohmann::ordered_json();
    };
    for (const compared_component& one : all) {
        lines.push_back({{"name", one.name},
                         {"pass", counted_passes_names[static_cast<std::size_t>(one.timed)]},
                         {"before", number(one.before)},
                         {"after", number(one.after)},
                         {"slower", one.slower()},
                         {"kernel_rate_before", one.rate_before},
                         {"kernel_rate_after", one.rate_after}});
    }
    return lines;
}

/// A step by component as JSON. Nanoseconds over all GPUs are decimal strings; those of `lost` add up to what the MFU
/// lacks. Points are of the MFU, shares of the step's time.
[[nodiscard]] inline nlohmann::ordered_json to_json(const component_waterfall& made) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const component_line& line : made.lines()) {
        lines.push_back({{"name", line.name},
                         {"components", line.components},
                         {"pass", counted_passes_names[static_cast<std::size_t>(line.timed)]},
                         {"timed", line.is_timed},
                         {"gpu_nanoseconds", std::to_string(line.gpu_nanoseconds)},
                         {"useful", std::to_string(line.useful_nanoseconds)},
                         {"executed", std::to_string(line.executed_nanoseconds)},
                         {"lost", std::to_string(line.lost())},
                         {"points_lost", made.points(line.lost())},
                         {"share_of_time", line.share},
                         {"mfu", line.mfu},
                         {"kernel_rate", line.kernel_rate}});
    }
    return lines;
}

}  // namespace floptally
