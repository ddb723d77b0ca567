// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/search/layout_search.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Adapter: writes the layouts of a search as JSON, with nlohmann_json.

namespace floptally::inline v0_3 {

/// Returns a layout as JSON, with all that decides its memory and time.
[[nodiscard]] inline nlohmann::ordered_json to_json(const layout_predictor& predictor, const training_layout& layout) {
    using json = nlohmann::ordered_json;
    const parallel_sizes& sizes = layout.sizes;
    json layers = json::array();
    const pipeline_split split = predictor.split_of_layers(layout);
    for (const index_range& chunk : split.chunks()) {
        layers.push_back(chunk.size());
    }
    const memory_options options = predictor.memory_options_of(layout);
    const auto modules = [](const layer_modules& some) {
        json names = json::array();
        for (std::size_t i = 0; i < layer_module_count; ++i) {
            if (some.contains(static_cast<layer_module>(i))) {
                names.push_back(layer_module_names[i]);
            }
        }
        return names;
    };
    return {{"dp", sizes.dp},
            {"pp", sizes.pp},
            {"vpp", sizes.vpp},
            {"tp", sizes.tp},
            {"cp", sizes.cp},
            {"ep", sizes.ep},
            {"etp", sizes.expert_tp()},
            {"microbatch", layout.microbatch},
            {"microbatches", layout.microbatches},
            {"global_batch", sizes.dp * layout.microbatch * layout.microbatches},
            {"zero", zero_stage_names[static_cast<std::size_t>(layout.sharded)]},
            {"hsdp", sizes.dp_replicate},
            {"recompute", recompute_names[static_cast<std::size_t>(layout.recomputed)]},
            {"recompute_modules", modules(options.kernels.recomputed)},
            {"schedule", pipeline_schedule_names[static_cast<std::size_t>(layout.schedule)]},
            {"layers_of_chunks", layers},
            {"sequence_parallel", layout.sequence_parallel},
            {"offload",
             {{"modules", modules(options.kernels.offloaded)},
              {"layers", options.offloaded_layers},
              {"optimizer", options.host_optimizer}}},
            {"optimizer", options.optimizer.name}};
}

/// Returns the first `most` layouts of a search as JSON, as docs/command_line.md specifies it.
[[nodiscard]] inline nlohmann::ordered_json to_json(const layout_predictor& predictor, const layout_search& search,
                                                    std::size_t most = 20) {
    using json = nlohmann::ordered_json;
    const std::vector<std::size_t> front = search.pareto_front();
    json layouts = json::array();
    for (std::size_t i = 0; i < search.found.size() && i < most; ++i) {
        const layout_prediction& found = search.found[i];
        layouts.push_back({{"layout", to_json(predictor, found.layout)},
                           {"seconds", found.seconds},
                           {"mfu", found.mfu},
                           {"memory_gib", found.memory.gib},
                           {"bound", found.bound},
                           {"bubble", found.bubble},
                           {"exposed_exchanges", found.exposed_exchanges},
                           {"optimizer_seconds", found.optimizer},
                           {"fullest_stage", found.memory.stage},
                           {"is_on_front", std::find(front.begin(), front.end(), i) != front.end()}});
    }
    json points = json::array();  // time and memory of all layouts, for a plot
    for (const layout_prediction& found : search.found) {
        points.push_back({found.seconds, found.memory.gib});
    }
    json written{{"version", version},
                 {"numbers_version", numbers_version},
                 {"tried", search.tried},
                 {"fit", search.found.size()},
                 {"too_large", search.too_large},
                 {"impossible", search.impossible},
                 {"assumed", search.assumed},
                 {"layouts", layouts},
                 {"memory_gib", predictor.cluster().memory_gib},
                 {"points", points}};
    if (search.measured) {
        const layout_prediction& step = search.measured->predicted;
        written["measured"] = {{"layout", to_json(predictor, step.layout)},
                               {"seconds", step.seconds},
                               {"mfu", step.mfu},
                               {"memory_gib", step.memory.gib},
                               {"bound", step.bound},
                               {"efficiency", search.measured->efficiency}};
    }
    return written;
}

}  // namespace floptally
