// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/kv_sharing_decoders.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/llava_parts.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/vision.hpp>
#include <floptally/model_config.hpp>

/// @file
/// Gemma's models of vision and language, in whose text the tokens of an image see each other.

namespace floptally::detail {

/// What the tokens of an image see more of it in a layer: later ones, and with `beyond_window` earlier ones too.
[[nodiscard]] inline cost image_attention(const hf_joined& model, std::uint64_t side, char letter, bool beyond_window) {
    const hf_dimensions& sizes = model.text.sizes;
    const mask own = mask_of_letter(model.text, letter);
    if (!own.is<mask_rules::band>() || own.shape() != pair_shape::causal) {
        throw error(model.config.field("text_config.use_bidirectional_attention"), "must be false or absent");
    }
    const std::int64_t left = own.as<mask_rules::band>().left;
    const std::int64_t window = beyond_window && left >= 0 ? left + 1 : -1;
    cost sum;
    sum.add("attention.core",
            attention_core{.num_heads = sizes.num_heads, .qk_head_dim = sizes.head_dim, .v_head_dim = sizes.head_dim},
            mask::later_image_tokens(static_cast<std::int64_t>(side), window));
    return sum;
}
[[nodiscard]] inline cost image_attention(const hf_joined& model, std::uint64_t side, bool beyond_window) {
    cost sum;
    for (const char letter : mixer_letters(model.text)) {
        sum += image_attention(model, side, letter, beyond_window);
    }
    return sum;
}

// ---- PaliGemma ----

/// One linear, to a width that the config states and that must be the text's.
[[nodiscard]] inline cost paligemma_projector(const hf_joined& model) {
    require_width(model.config, "projection_dim", model.config.dimension({"projection_dim"}, 2048),
                  model.text.sizes.hidden_size, "the text's hidden_size");
    return one_linear(model);
}
[[nodiscard]] inline std::uint64_t image_patches(const hf_joined& model) {
    return model.tower.family.input(model.tower).image->frame_patches();
}
[[nodiscard]] inline cost paligemma_image_attention(const hf_joined& model) { return image_attention(model, 1, true); }
[[nodiscard]] inline tower_input paligemma_placeholders(const hf_joined& model, tower_input input) {
    input.per_frame = image_patches(model);
    return input;
}

// ---- Gemma-3 ----

/// Squares of patches are pooled, so that `mm_tokens_per_image` are left, or nearly: a rest at the border is cut off.
[[nodiscard]] inline std::uint64_t gemma3_side(const hf_joined& model) {
    const std::uint64_t patches = model.tower.family.input(model.tower).image->h;
    const std::uint64_t wanted = model.config.dimension({"mm_tokens_per_image"}, 256);
    std::uint64_t per_side = 1;
    while ((per_side + 1) * (per_side + 1) <= wanted) {
        ++per_side;
    }
    if (per_side > patches) {
        throw error(model.config.field("mm_tokens_per_image"), "must be at most the patches of an image (" +
                                                                   std::to_string(patches * patches) + "), got " +
                                                                   std::to_string(wanted));
    }
    return patches / per_side;
}
[[nodiscard]] inline std::uint64_t gemma3_image_tokens(const hf_joined& model) {
    const std::uint64_t left = model.tower.family.input(model.tower).image->h / gemma3_side(model);
    return left * left;
}
[[nodiscard]] inline cost gemma3_projector(const hf_joined& model) {
    const std::uint64_t h = model.tower.sizes.hidden_size;
    cost sum;
    sum.add("projector", linear{.in_features = h,
                                .out_features = model.text.sizes.hidden_size,
                                .applied = gemma3_image_tokens(model),
                                .stored = 1,
                                .rows = statistic::count,
                                .weight = "mm_input_projection",
                                .reads = value::stream,
                                .writes = value::made(0),
                                .adaptable = false});
    sum.add_parameters("norm", term::norm, h);
    return sum;
}
[[nodiscard]] inline cost gemma3_image_attention(const hf_joined& model) {
    return image_attention(model, gemma3_side(model), false);
}
[[nodiscard]] inline tower_input gemma3_placeholders(const hf_joined& model, tower_input input) {
    input.per_frame = gemma3_image_tokens(model);
    return input;
}

// ---- Gemma-4 ----

[[nodiscard]] inline cost gemma4_vision_stem(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    cost sum = patch_embedding{.patch_size = model.read({{"patch_size"}, 16})}.cost(h);
    const std::uint64_t rows = checked_multiply(2, model.read({{"position_embedding_size"}, 10240}), "embedding");
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(rows, h, "embedding"));
    return sum;
}

inline constexpr std::array gemma_towers{
    hf_family{.model_type = "gemma4_vision",
              .class_prefix = "Gemma4",
              .heads = vision_model_heads,
              .encoder = true,
              .vocab_size = 0,
              .hidden_size = 768,
              .intermediate_size = 3072,
              .num_hidden_layers = 16,
              .num_attention_heads = 12,
              .num_key_value_heads = 12,
              .head_dim = 64,
              .norms_per_layer = 4,
              .query_key_norm = qk_norm::per_head,
              .final_norm = false,
              .stem = gemma4_vision_stem,
              .input = any_images},
};

[[nodiscard]] inline std::uint64_t gemma4_side(const hf_joined& model) {
    return model.tower.read({{"pooling_kernel_size"}, 3});
}
[[nodiscard]] inline cost gemma4_projector(const hf_joined& model) {
    cost sum;
    sum.add("projector",
            linear{.in_features = model.tower.sizes.hidden_size,
                   .out_features = model.text.sizes.hidden_size,
                   .weight = "embedding_projection",
                   .reads = value::stream,
                   .writes = value::made(0)},
            mask::merged_patches(static_cast<std::int64_t>(gemma4_side(model))));
    return sum;
}
/// Only in layers with a window, and only where the config says so.
[[nodiscard]] inline cost gemma4_image_attention(const hf_joined& model) {
    const json* said = model.text.config.find("use_bidirectional_attention");
    cost sum;
    if (said == nullptr || *said != "vision") {
        return sum;
    }
    const std::string letters = mixer_letters(model.text);
    for (std::size_t index = 0; index < letters.size(); ++index) {
        if (letters[index] == 'S') {
            const std::uint64_t head_dim =
                gemma4_heads(model.text, {{index, model.text.sizes.hidden_size, {}}, 'S', 'd'}).head_dim;
            sum.add("attention.core",
                    attention_core{
                        .num_heads = model.text.sizes.num_heads, .qk_head_dim = head_dim, .v_head_dim = head_dim},
                    mask::later_image_tokens(static_cast<std::int64_t>(gemma4_side(model))));
        }
    }
    return sum;
}
[[nodiscard]] inline tower_input gemma4_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, gemma4_side(model));
}

inline constexpr std::array gemma_vlms{
    hf_composite{.model_type = "paligemma",
                 .class_prefix = "PaliGemma",
                 .heads = outer_heads,
                 .text_type = "gemma",
                 .text_otherwise = R"({"hidden_size": 2048, "num_hidden_layers": 18, "intermediate_size": 16384,
                                       "num_attention_heads": 8, "num_key_value_heads": 1, "vocab_size": 257152})",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = paligemma_projector,
                                    .in_text = paligemma_image_attention,
                                    .placeholders = paligemma_placeholders,
                                    .otherwise = R"({"hidden_size": 1152, "intermediate_size": 4096,
                                                     "num_hidden_layers": 27, "num_attention_heads": 16,
                                                     "image_size": 224, "patch_size": 14,
                                                     "vision_use_head": false})"}},
                 .tie_word_embeddings = true,
                 .overrides = "use_bidirectional_attention",
                 .note =
                     "tokens of an image see each other; a prompt, which with token_type_ids sees all of itself and "
                     "of the image, is counted as causal: its length is not known"},
    hf_composite{.model_type = "gemma3",
                 .class_prefix = "Gemma3",
                 .heads = outer_heads_of_text_model,
                 .text_type = "gemma3_text",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = gemma3_projector,
                                    .in_text = gemma3_image_attention,
                                    .placeholders = gemma3_placeholders}},
                 .tie_word_embeddings = true,
                 .note = "tokens of an image see each other, as the token_type_ids of the processor say"},
    hf_composite{.model_type = "gemma4",
                 .class_prefix = "Gemma4",
                 .heads = outer_heads_of_text_model,
                 .text_type = "gemma4_text",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "gemma4_vision",
                                    .suffix = "VisionModel",
                                    .projector = gemma4_projector,
                                    .in_text = gemma4_image_attention,
                                    .placeholders = gemma4_placeholders,
                                    .optional = true}},
                 .tie_word_embeddings = true,
                 .refuses = "audio_config"},
};

}  // namespace floptally::detail
