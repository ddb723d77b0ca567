// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/checked.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/vision.hpp>

/// @file
/// Vision transformers over images of one size: ViT and the towers of CLIP.

namespace floptally::detail {

inline constexpr hf_size image_size_224{{"image_size"}, 224};
inline constexpr hf_size patch_size_16{{"patch_size"}, 16};
inline constexpr hf_size patch_size_32{{"patch_size"}, 32};
inline constexpr hf_size channels_3{{"num_channels"}, 3};

/// The patches of the image that a config states. A rest at its border is cut off, as the convolution does.
[[nodiscard]] inline grid image_grid(const hf_model& model, const hf_size& image, const hf_size& patch) {
    const std::uint64_t side = model.read(image);
    const std::uint64_t patch_side = model.read(patch);
    if (side < patch_side || side / patch_side > 0xFFFF) {
        throw error(model.config.field("image_size"), "must be from 1 to 65535 times patch_size (" +
                                                          std::to_string(patch_side) + "), got " +
                                                          std::to_string(side));
    }
    const auto cells = static_cast<std::uint32_t>(side / patch_side);
    return {1, cells, cells};
}

template <const hf_size& Image, const hf_size& Patch>
[[nodiscard]] tower_input fixed_images(const hf_model& model) {
    return {.image = image_grid(model, Image, Patch)};
}

[[nodiscard]] inline std::uint64_t one_class_token(const hf_model&) { return 1; }

/// A convolution over patches, a class token, and a table of positions for both.
[[nodiscard]] inline cost vit_stem_of(const hf_model& model, const hf_size& image, const hf_size& patch, bool bias,
                                      std::uint64_t prefix) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t side = model.read(patch);
    cost sum = patch_embedding{.in_channels = model.read(channels_3), .patch_size = side, .bias = bias}.cost(h);
    const std::uint64_t positions = image_grid(model, image, patch).frame_patches() + prefix;
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(positions + prefix, h, "embedding"));
    return sum;
}

[[nodiscard]] inline cost vit_stem(const hf_model& model) {
    return vit_stem_of(model, image_size_224, patch_size_16, true, 1);
}
[[nodiscard]] inline cost clip_stem(const hf_model& model) {
    return vit_stem_of(model, image_size_224, patch_size_32, false, 1);
}

inline constexpr head_linear pooler_of_image{hidden_width, per_sequence, true};

inline constexpr std::array vit_heads{
    head{"ForImageClassification", {{labels_width, per_sequence, true}}},
    head{"Model", {{.out = hidden_width, .rows = per_sequence, .bias = true, .detached = true}}},
};
inline constexpr std::array clip_vision_heads{
    head{"VisionModel", {}},
};

inline constexpr std::array vision_towers{
    hf_family{.model_type = "vit",
              .class_prefix = "ViT",
              .heads = vit_heads,
              .encoder = true,
              .vocab_size = 0,
              .hidden_size = 768,
              .intermediate_size = 3072,
              .num_hidden_layers = 12,
              .num_attention_heads = 12,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .qkv_bias = {"qkv_bias", true},
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .stem = vit_stem,
              .prefix_tokens = one_class_token,
              .input = fixed_images<image_size_224, patch_size_16>},
    hf_family{.model_type = "clip_vision_model",
              .class_prefix = "CLIP",
              .heads = clip_vision_heads,
              .encoder = true,
              .vocab_size = 0,
              .hidden_size = 768,
              .intermediate_size = 3072,
              .num_hidden_layers = 12,
              .num_attention_heads = 12,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .embedding_norm = always,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .stem = clip_stem,
              .prefix_tokens = one_class_token,
              .input = fixed_images<image_size_224, patch_size_32>},
};

}  // namespace floptally::detail
