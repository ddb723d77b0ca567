// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/error.hpp>
#include <floptally/layer.hpp>

/// @file
/// LLaVA and its descendants: the features of one layer of a vision tower, a projector, a text model.

namespace floptally::detail {

/// Layers that run before the hidden states number `index`, of which there is one more than layers.
[[nodiscard]] inline std::uint64_t layers_before(const json& index, const std::string& where, std::uint64_t layers) {
    const auto most = static_cast<std::int64_t>(layers);
    const bool is_index = index.is_number_integer();
    const std::int64_t at = is_index ? index.get<std::int64_t>() : 0;
    if (!is_index || at > most || at < -most - 1) {
        throw error(where, "must be an integer from " + std::to_string(-most - 1) + " to " + std::to_string(most) +
                               ", got " + shown(index));
    }
    return static_cast<std::uint64_t>(at < 0 ? at + most + 1 : at);
}

/// The deepest of the layers whose output is used.
template <std::int64_t Otherwise>
[[nodiscard]] std::uint64_t feature_layers(const hf_joined& model) {
    const json otherwise = Otherwise;
    const std::string_view key = "vision_feature_layer";
    const json& given = model.config.has_value(key) ? *model.config.find(key) : otherwise;
    const std::string where = model.config.field(key);
    if (!given.is_array()) {
        return layers_before(given, where, model.tower.sizes.num_layers);
    }
    std::uint64_t deepest = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        deepest = std::max(deepest, layers_before(given[i], indexed(where, i), model.tower.sizes.num_layers));
    }
    return deepest;
}

/// "default" drops the class token, "full" keeps it.
[[nodiscard]] inline bool keeps_class_token(const hf_joined& model) {
    const std::string strategy = model.config.text("vision_feature_select_strategy", "default");
    if (strategy != "default" && strategy != "full") {
        throw error(model.config.field("vision_feature_select_strategy"),
                    R"(must be "default" or "full", got ")" + strategy + "\"");
    }
    return strategy == "full";
}

/// Two linears with an activation between them.
[[nodiscard]] inline cost llava_projector(const hf_joined& model) {
    const std::string_view key = "vision_feature_layer";
    const json* listed = model.config.find(key);
    const std::uint64_t states = listed != nullptr && listed->is_array() ? listed->size() : 1;
    const std::uint64_t h = model.text.sizes.hidden_size;
    cost sum;
    sum.add("projector", linear{.in_features = states * model.tower.sizes.hidden_size,
                                .out_features = h,
                                .weight = "linear_1",
                                .reads = value::stream,
                                .writes = value::made(0)});
    sum.add("projector", linear{.in_features = h,
                                .out_features = h,
                                .weight = "linear_2",
                                .reads = value::made(0),
                                .writes = value::made(1)});
    sum.add_parameters("bias", term::bias, model.config.flag("multimodal_projector_bias", true) ? 2 * h : 0);
    return keeps_class_token(model) ? sum.with_prefix_tokens(1) : sum;
}

[[nodiscard]] inline tower_input llava_placeholders(const hf_joined& model, tower_input input) {
    input.units = mask::bidirectional();  // unused
    input.per_frame = input.image->frame_patches() + (keeps_class_token(model) ? 1 : 0);
    return input;
}

inline constexpr std::array llava_kin{
    hf_composite{.model_type = "llava",
                 .class_prefix = "Llava",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "clip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = llava_projector,
                                    .layers_used = feature_layers<-2>,
                                    .placeholders = llava_placeholders,
                                    .otherwise = R"({"hidden_size": 1024, "intermediate_size": 4096,
                                                     "num_hidden_layers": 24, "num_attention_heads": 16,
                                                     "image_size": 336, "patch_size": 14})"}},
                 .tie = tie_flag::either},
};

}  // namespace floptally::detail
