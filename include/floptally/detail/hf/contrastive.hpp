// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/error.hpp>

/// @file
/// CLIP, SigLIP and kin: a text model and a vision tower side by side, compared with each other.

namespace floptally::detail {

// ---- their text models ----

inline constexpr std::array clip_text_heads{
    head{"TextModel", {}},
};

[[nodiscard]] inline std::uint64_t projection_width(const hf_model& model) {
    return model.read_or_null({{"projection_size"}, model.sizes.hidden_size});
}
inline constexpr std::array siglip_text_heads{
    head{"TextModel", {{.out = projection_width, .rows = per_sequence, .bias = true, .detached = true}}},
};

inline constexpr hf_family clip_text{.model_type = "clip_text_model",
                                     .class_prefix = "CLIP",
                                     .heads = clip_text_heads,
                                     .vocab_size = 49408,
                                     .hidden_size = 512,
                                     .intermediate_size = 2048,
                                     .num_hidden_layers = 12,
                                     .num_attention_heads = 8,
                                     .has_kv_heads = false,
                                     .has_head_dim = false,
                                     .heads_divide_hidden = true,
                                     .positions = 77,
                                     .qkv_bias = always,
                                     .output_bias = always,
                                     .mlp_bias = always,
                                     .mlp = mlp_kind::plain,
                                     .norm = norm_kind::layer};

inline constexpr hf_family siglip_text = [] {
    hf_family row = renamed(clip_text, "siglip_text_model", "Siglip");
    row.heads = siglip_text_heads;
    row.encoder = true;
    row.vocab_size = 32000;
    row.hidden_size = 768;
    row.intermediate_size = 3072;
    row.num_attention_heads = 12;
    row.positions = 64;
    return row;
}();

inline constexpr std::array contrastive_texts{
    clip_text,
    renamed(clip_text, "metaclip_2_text_model", "MetaClip2"),
    siglip_text,
    renamed(siglip_text, "siglip2_text_model", "Siglip2"),
};

// ---- both ----

inline constexpr hf_size projection_512{{"projection_dim"}, 512};

[[nodiscard]] inline linear into_common_space(std::uint64_t in, std::uint64_t out, std::string_view weight,
                                              const dealing& dealt = {}) {
    return {.in_features = in,
            .out_features = out,
            .rows = statistic::count,
            .kind = term::lm_head,
            .weight = weight,
            .reads = value::stream,
            .dealt = dealt};
}

/// One row an image: its class token.
[[nodiscard]] inline cost clip_visual_projection(const hf_joined& model) {
    const std::uint64_t width = model.config.dimension(projection_512.keys, projection_512.otherwise);
    cost sum;
    sum.add("projector", into_common_space(model.tower.sizes.hidden_size, width, "visual_projection"));
    return sum;
}
/// One row a text, and the temperature of the logits.
[[nodiscard]] inline cost clip_text_projection(const config_fields& config, const hf_model& text) {
    for (const std::string_view key : {"text_config_dict", "vision_config_dict"}) {
        if (config.has_value(key)) {
            throw error(config.field(key), "must be null: write its values in " +
                                               std::string(key.substr(0, key.size() - 5)) + ", got an object");
        }
    }
    const std::uint64_t width = config.dimension(projection_512.keys, projection_512.otherwise);
    cost sum;
    sum.add("lm_head", into_common_space(text.sizes.hidden_size, width, "text_projection", dealing::replicated()));
    sum.add_parameters("norm", term::norm, 1);
    return sum;
}
/// Scale and bias of the logits.
[[nodiscard]] inline cost siglip_logits(const config_fields&, const hf_model&) {
    cost sum;
    sum.add_parameters("norm", term::norm, 1);
    sum.add_parameters("bias", term::bias, 1);
    return sum;
}

/// A linear over the mean of an image's patches.
[[nodiscard]] inline cost classifier_of_images(const hf_joined& model) {
    const hf_model outer{model.config, model.text.family, {}, {}, {}};
    const std::uint64_t labels = labels_width(outer);
    cost sum;
    sum.add("projector", into_common_space(model.tower.sizes.hidden_size, labels, "classifier"));
    sum.add_parameters("bias", term::bias, labels);
    return sum;
}

inline constexpr std::string_view logits_of_pairs =
    "the product of all texts with all images of a batch, 2 x texts x images x width, is not counted";

inline constexpr std::array contrastive_heads{
    hf_outer_class{.suffix = "Model", .text_suffix = "TextModel", .pooled = true, .uncounted = logits_of_pairs},
    hf_outer_class{.suffix = "ForImageClassification", .text_suffix = {}, .after = classifier_of_images},
};

inline constexpr hf_composite clip_model{
    .model_type = "clip",
    .class_prefix = "CLIP",
    .heads = contrastive_heads,
    .text_type = "clip_text_model",
    .towers = {hf_slot{.key = "vision_config",
                       .model_type = "clip_vision_model",
                       .suffix = "VisionModel",
                       .projector = clip_visual_projection}},
    .text_after = clip_text_projection,
};

inline constexpr std::array contrastive_models{
    clip_model,
    hf_composite{.model_type = "metaclip_2",
                 .class_prefix = "MetaClip2",
                 .heads = contrastive_heads,
                 .text_type = "metaclip_2_text_model",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "metaclip_2_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = clip_visual_projection}},
                 .text_after = clip_text_projection},
    hf_composite{
        .model_type = "siglip",
        .class_prefix = "Siglip",
        .heads = contrastive_heads,
        .text_type = "siglip_text_model",
        .towers = {hf_slot{.key = "vision_config", .model_type = "siglip_vision_model", .suffix = "VisionModel"}},
        .text_after = siglip_logits},
    hf_composite{
        .model_type = "siglip2",
        .class_prefix = "Siglip2",
        .heads = contrastive_heads,
        .text_type = "siglip2_text_model",
        .towers = {hf_slot{.key = "vision_config", .model_type = "siglip2_vision_model", .suffix = "VisionModel"}},
        .text_after = siglip_logits},
};

}  // namespace floptally::detail
