// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/patch_tower_parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/mask.hpp>

/// @file
/// Towers that descend from SigLIP and see images of any size: separate queries, keys and values, and the merger
/// outside.

namespace floptally::detail {

inline constexpr hf_size num_channels_3{{"num_channels"}, 3};

/// Separate queries, keys and values, biases everywhere, a norm after the last block.
[[nodiscard]] constexpr hf_family siglip_of_patches(std::string_view model_type, std::string_view prefix) {
    return vit_like({.model_type = model_type,
                     .class_prefix = prefix,
                     .heads = vision_model_heads,
                     .hidden_size = 1152,
                     .intermediate_size = 4304,
                     .num_hidden_layers = 27,
                     .num_attention_heads = 16,
                     .qkv_bias = always,
                     .input = merged_images});
}

[[nodiscard]] constexpr hf_family paddleocr_tower() {
    hf_family family = siglip_of_patches("paddleocr_vl_vision", "PaddleOCR");
    family.stem = [](const hf_model& model) {
        return patches_of(model, {.channels = num_channels_3},
                          square_positions(model, model.config.dimension({"image_size"}, 384), patch_size_14));
    };
    return family;
}
inline constexpr hf_family paddleocr_vl_vision = paddleocr_tower();

/// VideoLLaMA-3 has no merger, but frames of a video are shrunk before the projector by a factor that comes with them.
[[nodiscard]] constexpr hf_family video_llama_3_tower() {
    hf_family family = siglip_of_patches("video_llama_3_vision", "VideoLlama3");
    family.hidden_size = 768;
    family.intermediate_size = 3072;
    family.num_hidden_layers = 12;
    family.num_attention_heads = 12;
    family.stem = [](const hf_model& model) {
        return patches_of(model, {.channels = num_channels_3, .patch = patch_size_of_16});
    };
    family.resolve = [](hf_model& model) {
        model.notes.emplace_back("the projector is counted for every patch: merge_sizes of 1, as of images");
    };
    family.input = [](const hf_model&) { return tower_input{.units = mask::merged_patches(1), .per_unit = 1}; };
    return family;
}
inline constexpr hf_family video_llama_3_vision = video_llama_3_tower();

[[nodiscard]] constexpr hf_family hunyuan_tower() {
    hf_family family = siglip_of_patches("hunyuan_vl_vision", "HunYuanVL");
    family.also.num_attention_heads = "attention_heads";
    family.has_head_dim = true;
    family.final_norm = false;
    family.stem = [](const hf_model& model) {
        const std::uint64_t edge = model.config.dimension({"max_image_size"}, 2048);
        return patches_of(model, {.channels = num_channels_3, .patch = patch_size_of_16},
                          square_positions(model, edge, patch_size_of_16) + 1);
    };
    family.input = [](const hf_model& model) {
        return tower_input{.units = mask::merged_patches(static_cast<std::int64_t>(model.read(merge_size_2)), 1),
                           .per_unit = 1,
                           .per_frame = 2};
    };
    return family;
}
inline constexpr hf_family hunyuan_vl_vision = hunyuan_tower();

/// Kimi K2.5: a clip is one sequence, and its frames are pooled into one before the projector.
[[nodiscard]] inline std::uint64_t kimi_merge_size(const hf_model& model) {
    const std::string_view key = "merge_kernel_size";
    const json* sides = model.config.array(key);
    if (sides == nullptr) {
        return 2;
    }
    if (sides->size() != 2 || (*sides)[0] != (*sides)[1]) {
        throw error(model.config.field(key), "must be two equal numbers, got " + shown(*sides));
    }
    return config_fields::as_integer((*sides)[0], indexed(model.config.field(key), 0), 1, max_dimension);
}

[[nodiscard]] constexpr hf_family kimi_tower() {
    hf_family family = siglip_of_patches("kimi_k25_vision", "Kimi_K25");
    family.attention = [](const hf_model& model, const hf_layer& at) {
        hf_layer whole = at;
        whole.where.attends = mask::clip_squares();
        return gqa_part(model, whole);
    };
    family.stem = [](const hf_model& model) {
        return patches_of(model, {.channels = {}},
                          checked_multiply(model.config.dimension({"pos_emb_height"}, 64),
                                           model.config.dimension({"pos_emb_width"}, 64), "embedding"));
    };
    family.input = [](const hf_model& model) {
        return tower_input{.units = mask::pooled_patches(static_cast<std::int64_t>(kimi_merge_size(model))),
                           .per_unit = 1};
    };
    return family;
}
inline constexpr hf_family kimi_k25_vision = kimi_tower();

/// Kimi-VL's MoonViT (arXiv:2504.07491, section 2.1): the same of images, each for itself.
[[nodiscard]] constexpr hf_family moonvit_tower() {
    hf_family family = siglip_of_patches("moonvit", "MoonVit");
    family.attention = fused_gqa_part;
    family.stem = [](const hf_model& model) {
        return patches_of(model, {.channels = {}},
                          checked_multiply(model.config.dimension({"init_pos_emb_height"}, 64),
                                           model.config.dimension({"init_pos_emb_width"}, 64), "embedding"));
    };
    family.input = [](const hf_model& model) {
        return tower_input{.units = mask::merged_patches(static_cast<std::int64_t>(kimi_merge_size(model))),
                           .per_unit = 1};
    };
    return family;
}
inline constexpr hf_family moonvit = moonvit_tower();

}  // namespace floptally::detail
