// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/merging_vlms.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/query_parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model_config.hpp>

/// @file
/// Idefics-2 (a resampler), Idefics-3 and SmolVLM (merged patches): SigLIP's layers before a language model.

namespace floptally::detail {

inline constexpr image_stem idefics_stem{.patch = {{"patch_size"}, 32}, .class_rows = 0};

inline constexpr std::array idefics_vision_heads{
    head{"VisionTransformer", {}},
};

[[nodiscard]] constexpr hf_family idefics_vision(std::string_view model_type, std::string_view prefix,
                                                 std::uint64_t hidden_size, std::uint64_t heads, hf_input input) {
    return vit_like({.model_type = model_type,
                     .class_prefix = prefix,
                     .heads = idefics_vision_heads,
                     .hidden_size = hidden_size,
                     .num_attention_heads = heads,
                     .qkv_bias = always,
                     .stem = stem_of<idefics_stem>,
                     .input = input});
}

inline constexpr std::array idefics_towers{
    idefics_vision("idefics2_vision", "Idefics2", 768, 12, any_images),
    idefics_vision("idefics3_vision", "Idefics3", 1152, 16, fixed_images<idefics_stem>),
    idefics_vision("smolvlm_vision", "SmolVLM", 1152, 16, fixed_images<idefics_stem>),
};

// ---- Idefics-3, SmolVLM ----

/// One linear of side² patches beside each other.
[[nodiscard]] inline cost pixel_shuffle_projector(const hf_joined& model) {
    const std::uint64_t side = side_of(model, "scale_factor");
    cost sum;
    sum.add("projector",
            linear{.in_features = checked_multiply(side * side, model.tower.sizes.hidden_size, "projector"),
                   .out_features = model.text.sizes.hidden_size,
                   .weight = "proj",
                   .reads = value::stream,
                   .writes = value::made(0)},
            mask::merged_patches(static_cast<std::int64_t>(side)));
    return sum;
}
[[nodiscard]] inline tower_input shuffled_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, side_of(model, "scale_factor"));
}

// ---- Idefics-2 ----

[[nodiscard]] inline config_fields perceiver_of(const hf_joined& model, const json& none) {
    constexpr std::string_view key = "perceiver_config";
    return config_fields(model.config.has_value(key) ? *model.config.find(key) : none, model.config.field(key));
}
[[nodiscard]] inline std::uint64_t resampler_latents(const hf_joined& model) {
    const json none = json::object();
    return perceiver_of(model, none).dimension({"resampler_n_latents"}, 64);
}

/// A gated MLP of every patch to the text's width, then layers in which learned latents see the patches and each
/// other. Their width is the text's, whatever perceiver_config says.
[[nodiscard]] inline cost perceiver_projector(const hf_joined& model) {
    const std::uint64_t h = model.text.sizes.hidden_size;
    const std::uint64_t inner = model.text.sizes.intermediate_size;
    cost sum;
    for (const char* weight : {"gate_proj", "up_proj"}) {
        sum.add("projector", linear{.in_features = model.tower.sizes.hidden_size,
                                    .out_features = inner,
                                    .weight = weight,
                                    .reads = value::stream,
                                    .writes = value::made(0),
                                    .dealt = dealing::columns()});
    }
    sum.add("projector", linear{.in_features = inner,
                                .out_features = h,
                                .weight = "down_proj",
                                .reads = value::made(0),
                                .writes = value::made(1),
                                .dealt = dealing::rows()});
    const json none = json::object();
    const config_fields perceiver = perceiver_of(model, none);
    const std::uint64_t latents = resampler_latents(model);
    const std::uint64_t depth = perceiver.integer({"resampler_depth"}, 3, 0, max_layers);
    const std::uint64_t heads = perceiver.dimension({"resampler_n_heads"}, 16);
    const std::uint64_t kv_heads = perceiver.dimension({"num_key_value_heads"}, 4);
    if (heads % kv_heads != 0) {
        throw error(perceiver.field("num_key_value_heads"),
                    "must divide resampler_n_heads (" + std::to_string(heads) + "), got " + std::to_string(kv_heads));
    }
    cost layer = query_attention{.queries = latents,
                                 .num_heads = heads,
                                 .num_kv_heads = kv_heads,
                                 .head_dim = perceiver.dimension({"resampler_head_dim"}, 96),
                                 .hidden_size = h,
                                 .context_size = h}
                     .of() +
                 query_mlp{.queries = latents, .hidden_size = h, .intermediate_size = 4 * h, .gated = true}.of();
    layer.add_parameters("norm", term::norm, 3 * h);
    sum += depth * layer;
    sum.add_parameters("norm", term::norm, h);
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(latents, h, "embedding"));
    return sum;
}
[[nodiscard]] inline tower_input perceiver_placeholders(const hf_joined& model, tower_input input) {
    input.per_frame = resampler_latents(model);
    return input;
}

inline constexpr std::array idefics_kin{
    hf_composite{.model_type = "idefics2",
                 .class_prefix = "Idefics2",
                 .heads = outer_heads,
                 .text_type = "mistral",
                 .towers = {hf_slot{.key = "vision_config",
                                    .suffix = "VisionTransformer",
                                    .projector = perceiver_projector,
                                    .placeholders = perceiver_placeholders,
                                    .family = &idefics_towers[0]}}},
    hf_composite{.model_type = "idefics3",
                 .class_prefix = "Idefics3",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .towers = {hf_slot{.key = "vision_config",
                                    .suffix = "VisionTransformer",
                                    .projector = pixel_shuffle_projector,
                                    .placeholders = shuffled_placeholders,
                                    .family = &idefics_towers[1]}}},
    hf_composite{.model_type = "smolvlm",
                 .class_prefix = "SmolVLM",
                 .heads = outer_heads,
                 .text_type = "llama",
                 .towers = {hf_slot{.key = "vision_config",
                                    .suffix = "VisionTransformer",
                                    .projector = pixel_shuffle_projector,
                                    .placeholders = shuffled_placeholders,
                                    .family = &idefics_towers[2]}}},
};

}  // namespace floptally::detail
