// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <floptally/bytes/fit_report.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Adapter: a fit as JSON, with nlohmann_json.

namespace floptally {

/// A fit as JSON. Bytes and parameters are decimal strings; `sent` is by component, group, collective and phase.
[[nodiscard]] inline nlohmann::ordered_json to_json(const fit_report& made) {
    using json = nlohmann::ordered_json;
    constexpr const char* phases[] = {"forward", "backward_data", "backward_weights", "recompute"};
    json stages = json::array();
    for (const stage_fit& stage : made.stages) {
        json held{{"parameters", std::to_string(stage.held.parameters)},
                  {"trainable", std::to_string(stage.held.trainable)}};
        for (const auto& kind : detail::held_kinds) {
            held[kind.first] = std::to_string(stage.held.*kind.second);
        }
        held["total"] = std::to_string(stage.held.total());
        json sent = json::array();
        for (const communicated_bytes& row : stage.sent.rows) {
            json line{{"component", row.component.view()},
                      {"group", name_of(row.over)},
                      {"collective", name_of(row.how)},
                      {"phase", phases[static_cast<std::size_t>(row.during)]},
                      {"ranks", row.ranks},
                      {row.uniform ? "at_most" : "bytes", to_string(row.bytes)}};
            if (row.uniform) {
                line["uniform"] = to_string(*row.uniform);
            }
            sent.push_back(line);
        }
        json groups = json::array();
        for (const communication_time& group : stage.times) {
            json line{{"group", name_of(group.over)}, {"bytes", to_string(group.bytes)}};
            if (group.seconds) {
                line["seconds"] = *group.seconds;
            }
            line["is_estimate"] = group.is_estimate;
            groups.push_back(line);
        }
        stages.push_back({{"held", held},
                          {"gradients_moved", std::to_string(stage.held.gradients_moved)},
                          {"optimizer_moved", std::to_string(stage.held.optimizer_moved)},
                          {"sent", sent},
                          {"groups", groups},
                          {"activations_unsaid", stage.held.unsaid},
                          {"exchanges_unsaid", stage.sent.unsaid}});
    }
    const parallel_sizes& sizes = made.sizes;
    json out{{"version", version},
             {"numbers_version", numbers_version},
             {"model_type", made.model_type},
             {"layout",
              {{"dp", sizes.dp},
               {"cp", sizes.cp},
               {"tp", sizes.tp},
               {"pp", sizes.pp},
               {"vpp", sizes.vpp},
               {"ep", sizes.ep}}},
             {"optimizer", made.how.optimizer.name},
             {"microbatches", made.how.microbatches},
             {"stages", stages}};
    if (made.memory_gib) {
        out["memory_gib"] = *made.memory_gib;
    }
    return out;
}

}  // namespace floptally
