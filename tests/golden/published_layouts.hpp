// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include <floptally/bytes/fit_report.hpp>
#include <floptally/json.hpp>
#include <floptally/step/layout_text.hpp>

/// @file
/// Published layouts (golden/published_layouts.json) as the library's types, with the settings of their recipes.

namespace published_layouts {

using nlohmann::json;
using namespace floptally;

inline parallel_sizes sizes_of(const json& layout) {
    return {.dp = layout.at("dp"),
            .cp = layout.at("cp"),
            .tp = layout.at("tp"),
            .pp = layout.at("pp"),
            .vpp = layout.at("vpp"),
            .ep = layout.at("ep"),
            .etp = layout.value("etp", std::uint64_t{0}),
            .dp_replicate = layout.at("settings").value("dp_replicate", std::uint64_t{1})};
}

inline model_config model_of(const json& layout, const json& published, const json& models) {
    const std::string name = layout.at("config");
    const bool has_mtp = layout.at("model") == "deepseek_v3" || layout.at("model") == "deepseek_v4_flash";
    const read_options options{.mtp_layers = has_mtp ? 1U : 0U};
    if (models.contains(name)) {
        return read_config(models.at(name), options);
    }
    for (const json& one : published) {
        if (one.at("name") == name) {
            return read_config(one.at("config"), options);
        }
    }
    throw std::runtime_error("no config " + name);
}

inline std::string joined(const json& settings, const char* name) {
    std::string list;
    for (const std::string& module : settings.value(name, std::vector<std::string>{})) {
        list += (list.empty() ? "" : ",") + module;
    }
    return list;
}

/// What all recipes of the project set, and what this one does.
inline memory_options options_of(const json& layout) {
    const json& settings = layout.at("settings");
    const std::string precision = layout.at("precision");
    memory_options how{
        .sharded = settings.contains("sharded") ? zero_stage::weights : zero_stage::optimizer,
        .bits = {.gradients = 16},  // grad_reduce_in_fp32 = False
        .microbatches = layout.at("global_batch").get<std::uint64_t>() /
                        (layout.at("dp").get<std::uint64_t>() * layout.at("micro_batch").get<std::uint64_t>())};
    if (layout.at("model").get<std::string>().starts_with("deepseek")) {
        how.optimizer = optimizer_states::adamw_16bit_moments;
    }
    how.kernels.weights_inside_experts = true;
    how.kernels.matrix_inputs = block_format_named(precision == "bf16" ? "none" : precision, "precision");
    // fp8_param_gather: weights are FP8 alone. Under NVFP4 they stay in 16 bits.
    how.matrix_weights =
        block_format_named(precision == "fp8" || precision == "mxfp8" ? precision : std::string("none"), "precision");
    how.kernels.recomputed = layer_modules_named(joined(settings, "recompute_modules"), "recompute_modules");
    const std::string offloaded = joined(settings, "offload_modules");
    how.kernels.offloaded = layer_modules_named(offloaded == "fused_group_mlp" ? "moe" : offloaded, "offload_modules");
    how.offloaded_layers = settings.value("offload_layers", std::uint64_t{0});
    how.ranks.tensor.sequence_parallel = layout.at("tp").get<std::uint64_t>() > 1;
    how.ranks.pipeline.pipeline_model_parallel_layout = settings.value("pipeline_model_parallel_layout", std::string());
    return how;
}

inline training_plan plan_of(const json& layout) {
    const auto lora = [](const char* weights) {
        return weight_setting{.weights = weights, .state = weight_state::lora, .rank = 16};
    };
    return layout.at("kind") != "peft" ? training_plan{}
                                       : training_plan{.weights = {{.weights = "*", .state = weight_state::frozen},
                                                                   lora("attention.qkv"),
                                                                   lora("attention.output"),
                                                                   lora("mlp")}};
}

}  // namespace published_layouts
