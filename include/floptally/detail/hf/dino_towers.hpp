// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/image_stems.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>

/// @file
/// DINOv2, with registers, and DINOv3: vision transformers whose layers scale what they add.

namespace floptally::detail {

/// A factor per channel on what each half of a layer adds.
[[nodiscard]] inline cost layer_scales(const hf_model&, const hf_layer& at) {
    cost sum;
    sum.add_parameters("norm", term::norm, 2 * at.where.hidden_size);
    return sum;
}

inline void adjust_dinov2_width(hf_model& model) {
    model.sizes.intermediate_size = truncated(read_factor(model, "mlp_ratio", 4.0), model.sizes.hidden_size);
}

/// SwiGLU of two thirds of the width, up to a multiple of 8.
[[nodiscard]] inline cost dinov2_dense(const hf_model& model, const hf_layer& at) {
    const std::uint64_t width = model.sizes.intermediate_size;
    if (!model.config.flag("use_swiglu_ffn", false)) {
        return dense_of(model, at, width);
    }
    const std::uint64_t gated = (width * 2 / 3 + 7) / 8 * 8;
    return gated_mlp{gated, {.bias = 2 * gated + at.where.hidden_size}}.cost(at.where);
}

[[nodiscard]] inline cost dinov3_dense(const hf_model& model, const hf_layer& at) {
    const std::uint64_t width = model.sizes.intermediate_size;
    if (!model.config.flag("use_gated_mlp", false)) {
        return dense_of(model, at, width);
    }
    const std::uint64_t bias = model.has(model.family.mlp_bias) ? 2 * width + at.where.hidden_size : 0;
    return gated_mlp{width, {.bias = bias}}.cost(at.where);
}

/// Each of the four matrices has a bias of its own, or none.
[[nodiscard]] inline cost dinov3_attention(const hf_model& model, const hf_layer& at) {
    gqa part = read_gqa(model);
    part.elementwise.bias = 0;
    for (const presence& one :
         {presence{"query_bias", true}, {"key_bias", false}, {"value_bias", true}, {"proj_bias", true}}) {
        part.elementwise.bias += model.has(one) ? at.where.hidden_size : 0;
    }
    return part.cost(at.where);
}

inline constexpr hf_size registers_4{{"num_register_tokens"}, 4};
inline constexpr hf_size registers_0{{"num_register_tokens"}, 0};

[[nodiscard]] inline std::uint64_t dinov2_mask_token(const hf_model& model) {
    return model.config.flag("use_mask_token", true) ? 1 : 0;
}

inline constexpr image_stem dinov2_stem{.patch = {{"patch_size"}, 14}, .pairs = true, .more_rows = dinov2_mask_token};
inline constexpr image_stem dinov2_with_registers_stem{.pairs = true, .more_rows = class_tokens_and<1, registers_4>};
inline constexpr image_stem dinov3_stem{.positions = {}, .more_rows = class_tokens_and<0, registers_0>};

[[nodiscard]] inline std::uint64_t twice_hidden_width(const hf_model& model) { return 2 * model.sizes.hidden_size; }

/// The classifier reads the class token beside the mean of the patches.
inline constexpr std::array dinov2_heads{
    head{"ForImageClassification",
         {{.out = labels_width, .rows = per_sequence, .bias = true, .in = twice_hidden_width}}},
    head{"Model", {}},
};
inline constexpr std::array dinov3_heads{
    head{"Model", {}},
};

inline constexpr std::array dino_towers{
    with_head_dim(vit_like({.model_type = "dinov2",
                            .class_prefix = "Dinov2",
                            .heads = dinov2_heads,
                            .qkv_bias = if_qkv_bias,
                            .dense = dinov2_dense,
                            .more = layer_scales,
                            .resolve = adjust_dinov2_width,
                            .stem = stem_of<dinov2_stem>,
                            .prefix_tokens = class_tokens<1>,
                            .input = fixed_images<dinov2_stem>})),
    with_head_dim(vit_like({.model_type = "dinov2_with_registers",
                            .class_prefix = "Dinov2WithRegisters",
                            .heads = dinov2_heads,
                            .qkv_bias = if_qkv_bias,
                            .dense = dinov2_dense,
                            .more = layer_scales,
                            .resolve = adjust_dinov2_width,
                            .stem = stem_of<dinov2_with_registers_stem>,
                            .prefix_tokens = class_tokens_and<1, registers_4>,
                            .input = fixed_images<dinov2_with_registers_stem>})),
    vit_like({.model_type = "dinov3_vit",
              .class_prefix = "DINOv3ViT",
              .heads = dinov3_heads,
              .hidden_size = 384,
              .intermediate_size = 1536,
              .num_attention_heads = 6,
              .mlp_bias = {"mlp_bias", true},
              .attention = dinov3_attention,
              .dense = dinov3_dense,
              .more = layer_scales,
              .stem = stem_of<dinov3_stem>,
              .prefix_tokens = class_tokens_and<1, registers_0>,
              .input = fixed_images<dinov3_stem>}),
};

}  // namespace floptally::detail
