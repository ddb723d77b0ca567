// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/llava_parts.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model_config.hpp>

/// @file
/// LLaVA and those of its descendants whose projector sees every patch.

namespace floptally::detail {

// ---- LLaVA ----

[[nodiscard]] inline cost llava_projector(const hf_joined& model) {
    const cost sum = llava_linears(model, feature_layers_of(model, -2), projector_bias(model, true)).of(nullptr);
    const std::uint64_t kept = kept_prefix(model, "default");
    return kept == 0 ? sum : sum.with_prefix_tokens(kept);
}

/// One token for each patch: of an image of fixed size, or of any.
[[nodiscard]] inline tower_input llava_placeholders(const hf_joined& model, tower_input input) {
    input.per_frame = kept_prefix(model, "default");
    if (prefix_tokens(model.tower) == 0) {
        input.per_token = 1;
    } else {
        input.per_frame += input.image->frame_patches();
    }
    return input;
}

// ---- LLaVA-NeXT, LLaVA-OneVision: tiles, of which each is an image. Padding is cut out of what they make, so that
// their number does not say how many tokens there are ----

[[nodiscard]] inline cost llava_next_projector(const hf_joined& model) {
    require_patches_only(model, "default");
    return llava_linears(model, feature_layers_of(model, -2), projector_bias(model, true)).of(nullptr) +
           image_newline(model);
}

/// Clips are pooled before the projector; tiles are not.
[[nodiscard]] inline cost llava_next_video_projector(const hf_joined& model) {
    require_patches_only(model, "default");
    const std::string mode = model.config.text("spatial_pool_mode", "average");
    if (mode != "average" && mode != "max") {
        throw error(model.config.field("spatial_pool_mode"), R"(must be "average" or "max", got ")" + mode + "\"");
    }
    const mask pooled =
        mask::pooled_clips(static_cast<std::int64_t>(model.config.integer({"spatial_pool_stride"}, 2, 1, 0xFFFF)));
    return llava_linears(model, feature_layers_of(model, -2), projector_bias(model, true)).of(&pooled) +
           image_newline(model);
}

[[nodiscard]] inline cost llava_onevision_projector(const hf_joined& model) {
    require_patches_only(model, "full");
    return llava_linears(model, feature_layers_of(model, -1), projector_bias(model, true)).of(nullptr) +
           image_newline(model);
}

// ---- ViP-LLaVA ----

[[nodiscard]] inline json vipllava_layers(const hf_joined& model) {
    return feature_layers_of(model, json::array({-2, -5, -8, -11, 6}));
}
[[nodiscard]] inline std::uint64_t vipllava_depth(const hf_joined& model) {
    return deepest_layer(model, vipllava_layers(model));
}
/// The first token is dropped whatever the tower is, and a norm stands before the linears.
[[nodiscard]] inline cost vipllava_projector(const hf_joined& model) {
    if (prefix_tokens(model.tower) != 1) {
        throw error(model.config.field("vision_config.model_type"),
                    std::string("must be a tower with one class token, got \"")
                        .append(model.tower.family.model_type)
                        .append("\""));
    }
    two_linears both = llava_linears(model, vipllava_layers(model), true);
    both.norm = 2;
    return both.of(nullptr);
}
[[nodiscard]] inline tower_input vipllava_placeholders(const hf_joined&, tower_input input) {
    input.per_frame = input.image->frame_patches();
    return input;
}

inline constexpr std::string_view clip_of_llava = R"({"hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 336, "patch_size": 14})";

inline constexpr hf_slot clip_slot{.key = "vision_config",
                                   .model_type = "clip_vision_model",
                                   .suffix = "VisionModel",
                                   .projector = llava_projector,
                                   .layers_used = feature_layers<-2>,
                                   .placeholders = llava_placeholders,
                                   .otherwise = clip_of_llava};

/// The same tower with another projector.
[[nodiscard]] constexpr hf_slot with(hf_slot slot, hf_projector projector, hf_placeholders placeholders) {
    slot.projector = projector;
    slot.placeholders = placeholders;
    return slot;
}
[[nodiscard]] constexpr hf_slot with_depth(hf_slot slot, hf_depth layers_used) {
    slot.layers_used = layers_used;
    return slot;
}

inline constexpr std::array llava_kin{
    hf_composite{.model_type = "llava",
                 .class_prefix = "Llava",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .towers = {clip_slot},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "llava_next",
                 .class_prefix = "LlavaNext",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .towers = {with(clip_slot, llava_next_projector, nullptr)}},
    hf_composite{.model_type = "llava_next_video",
                 .class_prefix = "LlavaNextVideo",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .towers = {with(clip_slot, llava_next_video_projector, nullptr)},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "llava_onevision",
                 .class_prefix = "LlavaOnevision",
                 .heads = outer_heads,
                 .text_type = "qwen2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = llava_onevision_projector,
                                    .layers_used = feature_layers<-1>,
                                    .otherwise = R"({"hidden_size": 1152, "intermediate_size": 4304,
                                                     "num_hidden_layers": 26, "num_attention_heads": 16,
                                                     "image_size": 384, "patch_size": 14,
                                                     "vision_use_head": false})"}},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "vipllava",
                 .class_prefix = "VipLlava",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .towers = {with_depth(with(clip_slot, vipllava_projector, vipllava_placeholders), vipllava_depth)}},
};

}  // namespace floptally::detail
