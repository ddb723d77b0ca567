// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/llava_parts.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/vlm_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model_config.hpp>

/// @file
/// Models of vision and language that merge patches before their projector.

namespace floptally::detail {

[[nodiscard]] inline std::uint64_t side_of(const hf_joined& model, std::string_view key) {
    return model.config.integer({key}, 2, 1, 0xFFFF);
}

/// Of side² patches beside each other.
[[nodiscard]] inline cost merged_linears(const hf_joined& model, std::uint64_t side, two_linears both) {
    both.in_features = checked_multiply(side * side, model.tower.sizes.hidden_size, "projector");
    both.out_features = model.text.sizes.hidden_size;
    const mask units = mask::merged_patches(static_cast<std::int64_t>(side));
    return both.of(&units);
}

// ---- Mistral-3 ----

[[nodiscard]] inline cost mistral3_projector(const hf_joined& model) {
    const std::uint64_t side = side_of(model, "spatial_merge_size");
    const std::uint64_t h = model.tower.sizes.hidden_size;
    const mask units = mask::merged_patches(static_cast<std::int64_t>(side));
    cost sum;
    sum.add("projector",
            linear{.in_features = checked_multiply(side * side, h, "projector"),
                   .out_features = h,
                   .weight = "merging_layer",
                   .reads = value::stream,
                   .writes = value::made(2)},
            units);
    sum.add_parameters("norm", term::norm, h);
    return sum + llava_linears(model, -1, projector_bias(model, false)).of(&units);
}
[[nodiscard]] inline tower_input mistral3_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, side_of(model, "spatial_merge_size"));
}

// ---- InternVL: a scale in place of a side ----

[[nodiscard]] inline std::uint64_t internvl_side(const hf_joined& model) {
    return side_of_ratio(model.config, "downsample_ratio");
}
[[nodiscard]] inline cost internvl_projector(const hf_joined& model) {
    require_patches_only(model, "default");
    const std::uint64_t h = model.text.sizes.hidden_size;
    return merged_linears(model, internvl_side(model), {.up_features = h, .down_features = h, .norm = 2});
}
[[nodiscard]] inline tower_input internvl_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, internvl_side(model));
}

// ---- Cohere: half of what the first linear makes gates the other half ----

[[nodiscard]] inline two_linears gated_alignment(const hf_joined& model, std::uint64_t otherwise) {
    constexpr std::string_view key = "alignment_intermediate_size";
    const std::uint64_t width = model.config.dimension({key}, otherwise);
    if (width % 2 != 0) {
        throw error(model.config.field(key), "must be even, got " + std::to_string(width));
    }
    return {.up_features = width, .down_features = width / 2};
}
[[nodiscard]] inline cost aya_vision_projector(const hf_joined& model) {
    require_patches_only(model, "full");
    two_linears both = gated_alignment(model, model.text.sizes.hidden_size);
    both.norm = 2;
    return merged_linears(model, side_of(model, "downsample_factor"), both);
}
[[nodiscard]] inline cost cohere2_vision_projector(const hf_joined& model) {
    return merged_linears(model, side_of(model, "downsample_factor"), gated_alignment(model, 36864));
}
[[nodiscard]] inline tower_input downsampled_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, side_of(model, "downsample_factor"));
}

// ---- Llama-4 ----

/// The last linear of the tower is its own, and one more goes to the text.
[[nodiscard]] inline cost llama4_projector(const hf_joined& model) {
    const std::uint64_t made = model.tower.read(llama4_adapter_width);
    require_width(model.tower.config, "vision_output_dim", model.tower.read({{"vision_output_dim"}, 7680}), made,
                  "projector_output_dim");
    cost sum;
    sum.add("projector",
            linear{.in_features = made,
                   .out_features = model.text.sizes.hidden_size,
                   .weight = "linear_1",
                   .reads = value::stream,
                   .writes = value::made(0),
                   .dealt = dealing::columns()},
            mask::merged_patches(static_cast<std::int64_t>(llama4_side(model.tower))));
    return sum;
}
[[nodiscard]] inline tower_input llama4_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, llama4_side(model.tower));
}

// ---- LFM2-VL ----

[[nodiscard]] inline cost lfm2_vl_projector(const hf_joined& model) {
    const std::uint64_t width = model.config.dimension({"projector_hidden_size"}, 2560);
    return merged_linears(model, side_of(model, "downsample_factor"),
                          {.up_features = width,
                           .down_features = width,
                           .bias = model.config.flag("projector_bias", true),
                           .norm = model.config.flag("projector_use_layernorm", true) ? 2U : 0U});
}

// ---- Ovis-2 ----

/// The table of the visual vocabulary, of which a patch takes all words, as likely as they are.
[[nodiscard]] inline cost ovis2_projector(const hf_joined& model) {
    const std::uint64_t h = model.text.sizes.hidden_size;
    require_width(model.config, "hidden_size", model.config.dimension({"hidden_size"}, 1536), h,
                  "the text's hidden_size");
    cost sum;
    sum.add("projector",
            linear{.in_features = ovis2_vocabulary(model.tower),
                   .out_features = h,
                   .weight = "visual_embeddings_table",
                   .reads = value::stream,
                   .writes = value::made(0),
                   .adaptable = false},
            mask::merged_patches(static_cast<std::int64_t>(ovis2_stride(model.tower))));
    return sum;
}
[[nodiscard]] inline tower_input ovis2_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, ovis2_stride(model.tower));
}

inline constexpr std::array merging_vlms{
    hf_composite{.model_type = "mistral3",
                 .class_prefix = "Mistral3",
                 .heads = outer_heads,
                 .text_type = "mistral",
                 .text_otherwise = R"({"head_dim": 128, "hidden_size": 5120, "intermediate_size": 32768,
                                       "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8,
                                       "sliding_window": null, "vocab_size": 131072})",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "pixtral",
                                    .suffix = "VisionModel",
                                    .projector = mistral3_projector,
                                    .layers_used = feature_layer<-1>,
                                    .placeholders = mistral3_placeholders,
                                    .otherwise = R"({"patch_size": 14, "image_size": 1540})"}},
                 .tie_word_embeddings = true},
    hf_composite{.model_type = "internvl",
                 .class_prefix = "InternVL",
                 .heads = outer_heads,
                 .text_type = "qwen2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "internvl_vision",
                                    .suffix = "VisionModel",
                                    .projector = internvl_projector,
                                    .layers_used = feature_layer<-1>,
                                    .placeholders = internvl_placeholders}},
                 .tie_word_embeddings = true},
    hf_composite{.model_type = "aya_vision",
                 .class_prefix = "AyaVision",
                 .heads = outer_heads,
                 .text_type = "cohere2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = aya_vision_projector,
                                    .layers_used = feature_layer<-1>,
                                    .placeholders = downsampled_placeholders,
                                    .otherwise = R"({"hidden_size": 1152, "intermediate_size": 4304,
                                                     "num_hidden_layers": 26, "num_attention_heads": 14,
                                                     "image_size": 384, "patch_size": 14,
                                                     "vision_use_head": false})"}},
                 .tie_word_embeddings = true},
    hf_composite{.model_type = "cohere2_vision",
                 .class_prefix = "Cohere2Vision",
                 .heads = outer_heads,
                 .text_type = "cohere2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = cohere2_vision_projector,
                                    .placeholders = downsampled_placeholders,
                                    .otherwise = R"({"hidden_size": 1152, "intermediate_size": 3072, "image_size": 512,
                                                     "num_hidden_layers": 27, "num_attention_heads": 12})"}},
                 .tie_word_embeddings = true},
    hf_composite{.model_type = "llama4",
                 .class_prefix = "Llama4",
                 .heads = std::span(outer_heads).first(1),
                 .text_type = "llama4_text",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "llama4_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = llama4_projector,
                                    .placeholders = llama4_placeholders}},
                 .tie = tie_flag::text},
    hf_composite{.model_type = "lfm2_vl",
                 .class_prefix = "Lfm2Vl",
                 .heads = outer_heads,
                 .text_type = "lfm2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip2_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = lfm2_vl_projector,
                                    .placeholders = downsampled_placeholders}},
                 .tie_word_embeddings = true,
                 .tie_key = "tie_embedding"},
    hf_composite{.model_type = "ovis2",
                 .class_prefix = "Ovis2",
                 .heads = outer_heads,
                 .text_type = "qwen2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "ovis2_vision",
                                    .suffix = "VisionModel",
                                    .projector = ovis2_projector,
                                    .placeholders = ovis2_placeholders}},
                 .tie_word_embeddings = true},
};

}  // namespace floptally::detail
