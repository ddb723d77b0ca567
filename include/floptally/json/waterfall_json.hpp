// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include <floptally/count/training_plan.hpp>
#include <floptally/text/version.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/waterfall.hpp>

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
                         {"assumed", line.assumed}});
    }
    return {{"version", version},
            {"seconds", made.seconds()},
            {"gpus", made.gpus()},
            {"mfu", made.mfu()},
            {"kernel_rate", made.kernel_rate()},
            {"memory_share", made.memory_share()},
            {"communication_seconds", made.communication()},
            {"lines", lines}};
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
