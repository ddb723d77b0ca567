// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/image_stems.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/vision.hpp>

/// @file
/// Vision towers that were made for a model of vision and language: Pixtral, InternVL, Llama-4, Ovis-2.

namespace floptally::detail {

/// The side of the squares that are merged, where a config has it as a scale of each side.
[[nodiscard]] inline std::uint64_t side_of_ratio(const config_fields& config, std::string_view key) {
    const json* given = config.find(key);
    const double ratio = given == nullptr ? 0.5 : given->is_number() ? given->get<double>() : 0.0;
    if (ratio != 1.0 && ratio != 0.5 && ratio != 0.25 && ratio != 0.125) {
        throw error(config.field(key), "must be 1.0, 0.5, 0.25 or 0.125, got " + shown(*given));
    }
    return static_cast<std::uint64_t>(1.0 / ratio);
}

inline constexpr image_stem pixtral_stem{
    .image = {{"image_size"}, 1024}, .bias = false, .positions = {}, .class_rows = 0};

// ---- InternVL ----

/// The position of the class token, and a token that stands for masked patches.
[[nodiscard]] inline std::uint64_t internvl_rows(const hf_model& model) {
    return (model.config.flag("use_absolute_position_embeddings", true) ? 1 : 0) +
           (model.config.flag("use_mask_token", false) ? 1 : 0);
}
inline constexpr image_stem internvl_stem{.image = {{"image_size"}, 448},
                                          .patch = {{"patch_size"}, 14},
                                          .pairs = true,
                                          .positions = {"use_absolute_position_embeddings", true},
                                          .class_rows = 1,
                                          .more_rows = internvl_rows};

[[nodiscard]] inline cost internvl_attention(const hf_model& model, const hf_layer& at) {
    gqa part = read_gqa(model);
    part.elementwise.norm = model.config.flag("use_qk_norm", false) ? 2 * model.sizes.hidden_size : 0;
    return part.cost(at.where);
}

/// Two norms, of a kind that the config names, and the two vectors that scale what is added to the stream.
[[nodiscard]] inline cost internvl_norms(const hf_model& model, const hf_layer&) {
    const std::string kind = model.config.text("norm_type", "layer_norm");
    if (kind != "layer_norm" && kind != "rms_norm") {
        throw error(model.config.field("norm_type"), R"(must be "layer_norm" or "rms_norm", got ")" + kind + "\"");
    }
    cost sum;
    sum.add_parameters("norm", term::norm, (kind == "rms_norm" ? 4 : 6) * model.sizes.hidden_size);
    return sum;
}

[[nodiscard]] inline cost internvl_last_norm(const hf_model& model) {
    cost sum;
    sum.add_parameters("norm", term::norm,
                       model.config.flag("use_mean_pooling", true) ? 0 : 2 * model.sizes.hidden_size);
    return sum;
}

// ---- Llama-4 ----

inline constexpr image_stem llama4_stem{.image = {{"image_size"}, 448}, .patch = {{"patch_size"}, 14}, .bias = false};
inline constexpr hf_size llama4_adapter_width{{"projector_output_dim"}, 4096};

[[nodiscard]] inline std::uint64_t llama4_side(const hf_model& tower) {
    return side_of_ratio(tower.config, "pixel_shuffle_ratio");
}
/// An MLP over merged patches, whose width is that of the layers' MLP.
[[nodiscard]] inline cost llama4_adapter(const hf_model& model) {
    const std::uint64_t side = llama4_side(model);
    const std::uint64_t merged = checked_multiply(side * side, model.sizes.hidden_size, "merger");
    require_width(model.config, "intermediate_size", model.sizes.intermediate_size, merged,
                  "the width of merged patches");
    const std::uint64_t width = model.read(llama4_adapter_width);
    require_width(model.config, "projector_input_dim", model.read({{"projector_input_dim"}, 4096}), width,
                  "projector_output_dim");
    return patch_merger{.spatial_merge_size = side,
                        .hidden_size = model.sizes.hidden_size,
                        .intermediate_size = width,
                        .out_features = width}
        .cost();
}

// ---- Ovis-2: words of a visual vocabulary ----

inline constexpr image_stem ovis2_stem{.patch = {{"patch_size"}, 14}, .class_rows = 0};

[[nodiscard]] inline std::uint64_t ovis2_stride(const hf_model& tower) { return tower.read({{"hidden_stride"}, 1}); }
[[nodiscard]] inline std::uint64_t ovis2_vocabulary(const hf_model& tower) {
    return tower.config.integer({"vocab_size"}, 16384, 1, max_vocabulary);
}

/// How likely an image has each word of the visual vocabulary, but those that stand around images.
[[nodiscard]] inline cost ovis2_words(const hf_model& model) {
    const std::uint64_t all = ovis2_vocabulary(model);
    const std::uint64_t others = model.read_or_none({{"num_visual_indicator_tokens"}, 5});
    if (others >= all) {
        throw error(model.config.field("num_visual_indicator_tokens"),
                    "must be below vocab_size (" + std::to_string(all) + "), got " + std::to_string(others));
    }
    const std::uint64_t stride = ovis2_stride(model);
    cost sum;
    sum.add("merger",
            linear{.in_features = checked_multiply(stride * stride, model.sizes.hidden_size, "merger"),
                   .out_features = all - others,
                   .weight = "head_linear",
                   .reads = value::stream,
                   .writes = value::made(0)},
            mask::merged_patches(static_cast<std::int64_t>(stride)));
    sum.add_parameters("norm", term::norm, 2 * (all - others));
    return sum;
}

inline constexpr std::array vlm_towers{
    hf_family{.model_type = "pixtral",
              .class_prefix = "Pixtral",
              .heads = vision_model_heads,
              .encoder = true,
              .vocab_size = 0,
              .hidden_size = 1024,
              .intermediate_size = 4096,
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .embedding_norm = always,
              .final_norm = false,
              .stem = stem_of<pixtral_stem>,
              .input = fixed_images<pixtral_stem>},
    [] {
        hf_family family = vit_like({.model_type = "internvl_vision",
                                     .class_prefix = "InternVL",
                                     .heads = vision_model_heads,
                                     .hidden_size = 1024,
                                     .intermediate_size = 4096,
                                     .num_hidden_layers = 24,
                                     .num_attention_heads = 16,
                                     .qkv_bias = if_attention_bias,
                                     .final_norm = false,
                                     .attention = internvl_attention,
                                     .more = internvl_norms,
                                     .once = internvl_last_norm,
                                     .stem = stem_of<internvl_stem>,
                                     .prefix_tokens = class_tokens<1>,
                                     .input = fixed_images<internvl_stem>});
        family.norm = norm_kind::none;  // of a kind that the config names
        return family;
    }(),
    vit_like({.model_type = "llama4_vision_model",
              .class_prefix = "Llama4",
              .heads = vision_model_heads,
              .intermediate_size = 5632,
              .num_hidden_layers = 34,
              .num_attention_heads = 16,
              .embedding_norm = always,
              .qkv_bias = always,
              .stem = stem_of<llama4_stem>,
              .prefix_tokens = class_tokens<1>,
              .after = llama4_adapter,
              .input = fixed_images<llama4_stem>}),
    hf_family{.model_type = "ovis2_vision",
              .class_prefix = "Ovis2",
              .heads = vision_model_heads,
              .encoder = true,
              .vocab_size = 0,
              .hidden_size = 1024,
              .intermediate_size = 2816,
              .num_hidden_layers = 24,
              .num_attention_heads = 8,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .embedding_norm = always,
              .qkv_bias = {"qkv_bias", false},
              .output_bias = {"qkv_bias", false},
              .mlp_bias = {"mlp_bias", false},
              .stem = stem_of<ovis2_stem>,
              .after = ovis2_words,
              .input = fixed_images<ovis2_stem>},
};

}  // namespace floptally::detail
