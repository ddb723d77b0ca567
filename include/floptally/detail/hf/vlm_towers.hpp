// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/attention.hpp>
#include <floptally/checked.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/vision.hpp>

/// @file
/// Vision towers that were made for a model of vision and language: Pixtral, InternVL.

namespace floptally::detail {

inline constexpr hf_size image_size_1024{{"image_size"}, 1024};

[[nodiscard]] inline cost pixtral_stem(const hf_model& model) {
    return patch_embedding{.in_channels = model.read(channels_3), .patch_size = model.read(patch_size_16)}.cost(
        model.sizes.hidden_size);
}

// ---- InternVL ----

/// Height and width, where a config has one number for both or a list of two.
struct hf_area {
    std::uint64_t height = 0;
    std::uint64_t width = 0;
};
[[nodiscard]] inline hf_area read_area(const hf_model& model, std::string_view key, std::uint64_t otherwise) {
    const json* given = model.config.find(key);
    if (given == nullptr || !given->is_array()) {
        const std::uint64_t side = model.config.dimension({key}, otherwise);
        return {side, side};
    }
    if (given->size() != 2) {
        throw error(model.config.field(key), "must be one number, or a height and a width, got " + shown(*given));
    }
    const auto at = [&](std::size_t i) {
        return config_fields::as_integer((*given)[i], indexed(model.config.field(key), i), 1, max_dimension);
    };
    return {at(0), at(1)};
}

[[nodiscard]] inline std::uint64_t internvl_patch(const hf_model& model) {
    const hf_area patch = read_area(model, "patch_size", 14);
    if (patch.height != patch.width) {
        throw error(model.config.field("patch_size"),
                    "must be square, got " + std::to_string(patch.height) + " x " + std::to_string(patch.width));
    }
    return patch.height;
}

[[nodiscard]] inline tower_input internvl_images(const hf_model& model) {
    const hf_area image = read_area(model, "image_size", 448);
    const std::uint64_t patch = internvl_patch(model);
    if (image.height < patch || image.width < patch || image.height / patch > 0xFFFF || image.width / patch > 0xFFFF) {
        throw error(model.config.field("image_size"),
                    "must be from 1 to 65535 times patch_size (" + std::to_string(patch) + "), got " +
                        std::to_string(image.height) + " x " + std::to_string(image.width));
    }
    return {.image = grid{1, static_cast<std::uint32_t>(image.height / patch),
                          static_cast<std::uint32_t>(image.width / patch)}};
}

[[nodiscard]] inline cost internvl_stem(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    cost sum =
        patch_embedding{.in_channels = model.read(channels_3), .patch_size = internvl_patch(model), .bias = true}.cost(
            h);
    const bool positions = model.config.flag("use_absolute_position_embeddings", true);
    const std::uint64_t tokens = (positions ? internvl_images(model).image->frame_patches() + 1 : 0) + 1 +
                                 (model.config.flag("use_mask_token", false) ? 1 : 0);
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(tokens, h, "embedding"));
    return sum;
}

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

inline constexpr std::array vlm_tower_heads{
    head{"VisionModel", {}},
};

inline constexpr std::array vlm_towers{
    hf_family{.model_type = "pixtral",
              .class_prefix = "Pixtral",
              .heads = vlm_tower_heads,
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
              .stem = pixtral_stem,
              .input = fixed_images<image_size_1024, patch_size_16>},
    hf_family{.model_type = "internvl_vision",
              .class_prefix = "InternVL",
              .heads = vlm_tower_heads,
              .encoder = true,
              .vocab_size = 0,
              .hidden_size = 1024,
              .intermediate_size = 4096,
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .qkv_bias = if_attention_bias,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::none,
              .attention = internvl_attention,
              .more = internvl_norms,
              .once = internvl_last_norm,
              .stem = internvl_stem,
              .prefix_tokens = one_class_token,
              .input = internvl_images},
};

}  // namespace floptally::detail
