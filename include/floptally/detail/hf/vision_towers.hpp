// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/image_stems.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/model/vision.hpp>

/// @file
/// Vision transformers over images of one size: ViT and kin, the towers of CLIP and SigLIP.

namespace floptally::detail {

/// What all of them have: layers before a norm, biases everywhere, full attention.
[[nodiscard]] constexpr hf_family vit_like(hf_family family) {
    family.encoder = true;
    family.vocab_size = 0;
    family.hidden_size = family.hidden_size == derived ? 768 : family.hidden_size;
    family.intermediate_size = family.intermediate_size == derived ? 3072 : family.intermediate_size;
    family.num_hidden_layers = family.num_hidden_layers == derived ? 12 : family.num_hidden_layers;
    family.num_attention_heads = family.num_attention_heads == derived ? 12 : family.num_attention_heads;
    family.has_kv_heads = false;
    family.has_head_dim = false;
    family.heads_divide_hidden = true;
    family.output_bias = always;
    family.mlp_bias = family.mlp_bias.key.empty() ? always : family.mlp_bias;
    family.mlp = mlp_kind::plain;
    family.norm = norm_kind::layer;
    return family;
}

inline constexpr presence if_qkv_bias{"qkv_bias", true};

// ---- ViT ----

inline constexpr image_stem vit_stem{.pairs = true};
inline constexpr image_stem deit_stem{.pairs = true, .class_rows = 4};
inline constexpr image_stem ijepa_stem{.pairs = true, .class_rows = 0};

/// The pixels of a patch, from its token.
[[nodiscard]] inline std::uint64_t pixels_width(const hf_model& model) {
    const std::uint64_t side = model.read({{"encoder_stride"}, 16});
    return checked_multiply(side * side, model.read(vit_stem.channels), "lm_head");
}
[[nodiscard]] inline cost mask_token(const hf_model& model) {
    cost sum;
    sum.add_parameters("embedding", term::position_embedding, model.sizes.hidden_size);
    return sum;
}
[[nodiscard]] inline std::uint64_t pooler_width(const hf_model& model) {
    return model.read_or_null({{"pooler_output_size"}, model.sizes.hidden_size});
}

inline constexpr head_linear image_classifier{labels_width, per_sequence, true};

inline constexpr std::array vit_heads{
    head{"ForImageClassification", {image_classifier}},
    head{"Model", {{.out = pooler_width, .rows = per_sequence, .bias = true, .detached = true}}},
    head{.suffix = "ForMaskedImageModeling", .linears = {{pixels_width, per_token, true}}, .more = mask_token},
};
inline constexpr std::array deit_heads{
    vit_heads[0],
    vit_heads[1],
    vit_heads[2],
    head{"ForImageClassificationWithTeacher", {image_classifier, image_classifier}},
};
inline constexpr std::array vit_heads_without_pooler{
    vit_heads[0],
    head{"Model", {}},
};

// ---- CLIP, SigLIP ----

inline constexpr image_stem clip_stem{.patch = {{"patch_size"}, 32}, .bias = false};
inline constexpr image_stem siglip_stem{.class_rows = 0};

/// What the class returns beside the hidden states, of which alone the loss is.
[[nodiscard]] inline cost siglip_pooling(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t width = model.sizes.intermediate_size;
    if (!model.config.flag("vision_use_head", true)) {
        return {};
    }
    return attention_pooling{.num_heads = model.sizes.num_heads,
                             .hidden_size = h,
                             .intermediate_size = width,
                             .learned = h,
                             .elementwise = {.norm = 2 * h, .bias = 5 * h + width}}
        .cost();
}
inline constexpr std::array siglip_vision_heads{
    head{.suffix = "VisionModel", .linears = {}, .more = siglip_pooling, .more_detached = true},
};

/// SigLIP 2: images of any size, and a table of positions that is resized to each.
[[nodiscard]] inline cost siglip2_stem(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    cost sum =
        patch_embedding{
            .in_channels = model.read(siglip_stem.channels), .patch_size = model.read(siglip_stem.patch), .bias = true}
            .cost(h);
    sum.add_parameters("embedding", term::position_embedding,
                       checked_multiply(model.read({{"num_patches"}, 256}), h, "embedding"));
    return sum;
}
[[nodiscard]] inline tower_input any_images(const hf_model&) { return {}; }

inline constexpr hf_family clip_tower = vit_like({.model_type = "clip_vision_model",
                                                  .class_prefix = "CLIP",
                                                  .heads = vision_model_heads,
                                                  .embedding_norm = always,
                                                  .qkv_bias = always,
                                                  .stem = stem_of<clip_stem>,
                                                  .prefix_tokens = class_tokens<1>,
                                                  .input = fixed_images<clip_stem>});

/// Classes that read `head_dim`, and take heads that do not divide hidden_size.
[[nodiscard]] constexpr hf_family with_head_dim(hf_family family) {
    family.has_head_dim = true;
    family.heads_divide_hidden = false;
    return family;
}

inline constexpr std::array vision_towers{
    with_head_dim(vit_like({.model_type = "vit",
                            .class_prefix = "ViT",
                            .heads = vit_heads,
                            .qkv_bias = if_qkv_bias,
                            .stem = stem_of<vit_stem>,
                            .prefix_tokens = class_tokens<1>,
                            .input = fixed_images<vit_stem>})),
    with_head_dim(vit_like({.model_type = "deit",
                            .class_prefix = "DeiT",
                            .heads = deit_heads,
                            .qkv_bias = if_qkv_bias,
                            .stem = stem_of<deit_stem>,
                            .prefix_tokens = class_tokens<2>,
                            .input = fixed_images<deit_stem>})),
    with_head_dim(vit_like({.model_type = "vit_msn",
                            .class_prefix = "ViTMSN",
                            .heads = vit_heads_without_pooler,
                            .qkv_bias = if_qkv_bias,
                            .stem = stem_of<vit_stem>,
                            .prefix_tokens = class_tokens<1>,
                            .input = fixed_images<vit_stem>})),
    with_head_dim(vit_like({.model_type = "ijepa",
                            .class_prefix = "IJepa",
                            .heads = vit_heads_without_pooler,
                            .qkv_bias = if_qkv_bias,
                            .stem = stem_of<ijepa_stem>,
                            .input = fixed_images<ijepa_stem>})),
    clip_tower,
    renamed(clip_tower, "metaclip_2_vision_model", "MetaClip2"),
    vit_like({.model_type = "siglip_vision_model",
              .class_prefix = "Siglip",
              .heads = siglip_vision_heads,
              .qkv_bias = always,
              .stem = stem_of<siglip_stem>,
              .input = fixed_images<siglip_stem>}),
    vit_like({.model_type = "siglip2_vision_model",
              .class_prefix = "Siglip2",
              .heads = siglip_vision_heads,
              .qkv_bias = always,
              .stem = siglip2_stem,
              .input = any_images}),
};

}  // namespace floptally::detail
