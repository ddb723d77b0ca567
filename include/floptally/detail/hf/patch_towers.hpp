// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/patch_tower_parts.hpp>
#include <floptally/detail/hf/siglip_towers.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/model/vision.hpp>

/// @file
/// Vision towers over patches of images of any size. Each image (each frame of a clip) attends to itself, and a merger
/// makes one token of the text of side² patches.

namespace floptally::detail {

/// Qwen2-VL: `embed_dim` is the width, `hidden_size` that of the text.
inline constexpr hf_family qwen2_vl_vision{
    .model_type = "qwen2_vl_vision",
    .class_prefix = "Qwen2VL",
    .heads = vision_model_heads,
    .encoder = true,
    .also = {.num_hidden_layers = "depth", .num_attention_heads = "num_heads"},
    .vocab_size = 0,
    .hidden_size = 3584,
    .num_hidden_layers = 32,
    .num_attention_heads = 16,
    .has_kv_heads = false,
    .has_head_dim = false,
    .qkv_bias = always,
    .output_bias = always,
    .mlp_bias = always,
    .mlp = mlp_kind::plain,
    .norm = norm_kind::layer,
    .final_norm = false,
    .attention = fused_gqa_part,
    .resolve =
        [](hf_model& model) {
            hf_dimensions& sizes = model.sizes;
            sizes.hidden_size = model.config.dimension({"embed_dim"}, 1280);
            sizes.head_dim = sizes.hidden_size / sizes.num_heads;
            sizes.intermediate_size =
                checked_multiply(sizes.hidden_size, model.config.dimension({"mlp_ratio"}, 4), "mlp");
        },
    .stem = [](const hf_model& model) { return patches_of(model, {.frames = two_frames, .bias = false}); },
    .after =
        [](const hf_model& model) {
            const std::uint64_t text = model.config.dimension({"hidden_size"}, 3584);
            return merger_of(model, text, 2 * model.sizes.hidden_size).cost();
        },
    .input = merged_images};

/// Qwen2.5-VL: windows in most layers.
inline constexpr std::array qwen2_5_vl_vision_heads{head{"VisionTransformerPretrainedModel", {}}};
inline constexpr hf_family qwen2_5_vl_vision{
    .model_type = "qwen2_5_vl_vision",
    .class_prefix = "Qwen2_5_",
    .heads = qwen2_5_vl_vision_heads,
    .encoder = true,
    .also = {.num_hidden_layers = "depth", .num_attention_heads = "num_heads"},
    .vocab_size = 0,
    .hidden_size = 3584,
    .intermediate_size = 3420,
    .num_hidden_layers = 32,
    .num_attention_heads = 16,
    .has_kv_heads = false,
    .has_head_dim = false,
    .heads_divide_hidden = true,
    .qkv_bias = always,
    .output_bias = always,
    .mlp_bias = always,
    .final_norm = false,
    .mixers = windows_but_listed,
    .attention = windowed_attention,
    .stem = [](const hf_model& model) { return patches_of(model, {.frames = two_frames, .bias = false}); },
    .after =
        [](const hf_model& model) {
            return merger_of(model, model.read(out_hidden_3584), model.sizes.hidden_size).cost();
        },
    .input = merged_images};

/// EXAONE 4.5: the same with fewer heads of keys and values.
[[nodiscard]] constexpr hf_family exaone4_5_tower() {
    hf_family family = renamed(qwen2_5_vl_vision, "exaone4_5_vision", "Exaone4_5_");
    family.heads = vision_model_heads;
    family.has_kv_heads = true;
    family.num_key_value_heads = 8;
    return family;
}
inline constexpr hf_family exaone4_5_vision = exaone4_5_tower();

[[nodiscard]] inline cost qwen3_vl_stem(const hf_model& model) {
    return patches_of(model, {.patch = patch_size_of_16, .frames = two_frames},
                      model.config.dimension({"num_position_embeddings"}, 2304));
}
[[nodiscard]] inline cost qwen3_vl_merger(const hf_model& model) {
    return merger_of(model, model.read(out_hidden_3584), 2 * model.sizes.hidden_size).cost();
}

/// Qwen3.5: Qwen3-VL without DeepStack.
inline constexpr hf_family qwen3_5_vision =
    vit_like({.model_type = "qwen3_5_vision",
              .class_prefix = "Qwen3_5",
              .heads = vision_model_heads,
              .also = {.num_hidden_layers = "depth", .num_attention_heads = "num_heads"},
              .hidden_size = 1152,
              .intermediate_size = 4304,
              .num_hidden_layers = 27,
              .num_attention_heads = 16,
              .qkv_bias = always,
              .final_norm = false,
              .attention = fused_gqa_part,
              .stem = qwen3_vl_stem,
              .after = qwen3_vl_merger,
              .input = merged_images});

/// Qwen3-VL: one more merger for each layer whose patches are added to a layer of the text.
[[nodiscard]] constexpr hf_family deepstack_tower() {
    hf_family family = renamed(qwen3_5_vision, "qwen3_vl_vision", "Qwen3VL");
    family.after = [](const hf_model& model) {
        const std::uint64_t side = model.read(merge_size_2);
        const std::uint64_t norm = 2 * side * side * model.sizes.hidden_size;
        return qwen3_vl_merger(model) +
               deepstack_layers(model) * merger_of(model, model.read(out_hidden_3584), norm).cost();
    };
    return family;
}
inline constexpr hf_family qwen3_vl_vision = deepstack_tower();

inline constexpr hf_size out_hidden_4096{{"out_hidden_size"}, 4096};
inline constexpr hf_size out_hidden_1536{{"out_hidden_size"}, 1536};

/// GLM-4.1V: a block's MLP is as wide as the text, `intermediate_size` is the merger's.
inline constexpr hf_family glm4v_vision{
    .model_type = "glm4v_vision",
    .class_prefix = "Glm4v",
    .heads = vision_model_heads,
    .encoder = true,
    .also = {.num_hidden_layers = "depth", .num_attention_heads = "num_heads"},
    .vocab_size = 0,
    .hidden_size = 1536,
    .intermediate_size = 13696,
    .num_hidden_layers = 24,
    .num_attention_heads = 12,
    .has_kv_heads = false,
    .has_head_dim = false,
    .heads_divide_hidden = true,
    .embedding_norm = always,
    .qkv_bias = if_attention_bias,
    .attention = fused_gqa_part,
    .dense = [](const hf_model& model, const hf_layer& at) { return dense_of(model, at, model.read(out_hidden_4096)); },
    .stem =
        [](const hf_model& model) {
            return patches_of(model, {.frames = two_frames},
                              square_positions(model, model.config.dimension({"image_size"}, 336), patch_size_14));
        },
    .after =
        [](const hf_model& model) {
            const std::uint64_t out = model.read(out_hidden_4096);
            return gated_patch_merger{.spatial_merge_size = model.read(merge_size_2),
                                      .hidden_size = model.sizes.hidden_size,
                                      .intermediate_size = model.sizes.intermediate_size,
                                      .out_features = out,
                                      .elementwise = {.norm = 2 * out, .bias = out}}
                .cost();
        },
    .input = merged_images};

/// GLM-OCR: no table of positions, norms of queries and keys, and a merger three (`in_channels`) times as wide.
inline constexpr hf_family glm_ocr_vision{
    .model_type = "glm_ocr_vision",
    .class_prefix = "GlmOcr",
    .heads = vision_model_heads,
    .encoder = true,
    .also = {.num_hidden_layers = "depth", .num_attention_heads = "num_heads"},
    .vocab_size = 0,
    .hidden_size = 1024,
    .intermediate_size = 4096,
    .num_hidden_layers = 24,
    .num_attention_heads = 16,
    .has_kv_heads = false,
    .has_head_dim = false,
    .heads_divide_hidden = true,
    .qkv_bias = {"attention_bias", true},
    .output_bias = {"attention_bias", true},
    .mlp_bias = {"attention_bias", true},
    .query_key_norm = qk_norm::per_head,
    .attention = fused_gqa_part,
    .stem = [](const hf_model& model) { return patches_of(model, {.frames = two_frames}); },
    .after =
        [](const hf_model& model) {
            const std::uint64_t out = model.read(out_hidden_1536);
            return gated_patch_merger{.spatial_merge_size = model.read(merge_size_2),
                                      .hidden_size = model.sizes.hidden_size,
                                      .intermediate_size = checked_multiply(out, model.read(in_channels_3), "merger"),
                                      .out_features = out,
                                      .elementwise = {.norm = 2 * out, .bias = out}}
                .cost();
        },
    .input = merged_images};

/// Those that are a class of their own.
inline constexpr std::array patch_towers{
    qwen2_5_vl_vision, exaone4_5_vision,
    qwen3_vl_vision,   renamed(qwen3_vl_vision, "qwen3_vl_moe_vision", "Qwen3VLMoe"),
    qwen3_5_vision,    renamed(qwen3_5_vision, "qwen3_5_moe_vision", "Qwen3_5Moe"),
    glm4v_vision,      renamed(glm4v_vision, "glm4v_moe_vision", "Glm4vMoe"),
    glm_ocr_vision,    video_llama_3_vision,
    kimi_k25_vision,
};

}  // namespace floptally::detail
