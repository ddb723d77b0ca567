// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <floptally/bytes/fit_report.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Adapter: writes fit reports (memory and communication of a job) as JSON, with nlohmann_json.

namespace floptally::inline v0_3 {

/// Returns a fit report as JSON. Bytes and parameters are decimal strings. `sent` lists the sent bytes by component,
/// group of ranks, collective and phase.
[[nodiscard]] inline nlohmann::ordered_json to_json(const fit_report& report) {
    using json = nlohmann::ordered_json;
    constexpr const char* phases[] = {"forward", "backward_data", "backward_weights", "recompute"};
    json stages = json::array();
    for (const stage_fit& stage : report.stages) {
        json held{{"parameters", std::to_string(stage.held.parameters)},
                  {"trainable", std::to_string(stage.held.trainable)}};
        for (const auto& kind : detail::held_kinds) {
            held[kind.first] = std::to_string(stage.held.*kind.second);
        }
        held["host"] = std::to_string(stage.held.host);
        held["total"] = std::to_string(stage.held.total());
        json sent = json::array();
        for (const communicated_bytes& entry : stage.sent.entries) {
            json line{{"component", entry.component.view()},
                      {"group", name_of(entry.over)},
                      {"collective", name_of(entry.operation)},
                      {"phase", phases[static_cast<std::size_t>(entry.during)]},
                      {"ranks", entry.ranks},
                      {entry.uniform ? "at_most" : "bytes", to_string(entry.bytes)}};
            if (entry.uniform) {
                line["uniform"] = to_string(*entry.uniform);
            }
            if (entry.between_nodes) {
                line["within_nodes"] = to_string(entry.expected() - *entry.between_nodes);
                line["between_nodes"] = to_string(*entry.between_nodes);
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
            if (group.between_nodes) {
                line["within_nodes"] = to_string(group.bytes - *group.between_nodes);
                line["between_nodes"] = to_string(*group.between_nodes);
            }
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
    const parallel_sizes& sizes = report.sizes;
    const parallel_layout layout(sizes, sizes.world_size(), 0, report.order.axes, report.order.expert_axes);
    json out{{"version", version},
             {"numbers_version", numbers_version},
             {"model_type", report.model_type},
             {"layout",
              {{"dp", sizes.dp},
               {"cp", sizes.cp},
               {"tp", sizes.tp},
               {"pp", sizes.pp},
               {"vpp", sizes.vpp},
               {"ep", sizes.ep},
               {"etp", sizes.expert_tp()},
               {"dp_replicate", sizes.dp_replicate},
               {"order", layout.order()},
               {"expert_order", layout.expert_order()}}},
             {"split", report.split},
             {"optimizer", report.options.optimizer.name},
             {"microbatches", report.options.microbatches},
             {"stages", stages}};
    if (report.order.gpus_per_node != 0) {
        out["gpus_per_node"] = report.order.gpus_per_node;
    }
    if (report.memory_gib) {
        out["memory_gib"] = *report.memory_gib;
        out["reserve_gib"] = report.reserve_gib;
    }
    return detail::with_utf8(std::move(out));
}

}  // namespace floptally
