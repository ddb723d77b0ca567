// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <floptally/version.hpp>
#include <floptally/waterfall/waterfall.hpp>

namespace floptally {

/// A waterfall as JSON. Nanoseconds over all GPUs are decimal strings, which add up to `seconds` x `gpus`; shares are
/// numbers, of the peak.
[[nodiscard]] inline nlohmann::ordered_json to_json(const waterfall& made) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const waterfall_line& one : made.lines()) {
        lines.push_back({{"step", name_of(one.what)},
                         {"name", one.name},
                         {"known", one.is_known},
                         {"gpu_nanoseconds", std::to_string(one.gpu_nanoseconds)},
                         {"share_of_peak", one.share},
                         {"assumed", one.assumed}});
    }
    return {{"version", version}, {"seconds", made.seconds()},         {"gpus", made.gpus()},
            {"mfu", made.mfu()},  {"kernel_rate", made.kernel_rate()}, {"lines", lines}};
}

}  // namespace floptally
