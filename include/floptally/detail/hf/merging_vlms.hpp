// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include <floptally/checked.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/llava_parts.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model_config.hpp>

/// @file
/// Models of vision and language that merge or pool patches before their projector, and Gemma's, where tokens of an
/// image see each other.

namespace floptally::detail {

/// One token of the text for each side x side patches.
[[nodiscard]] inline tower_input merged_placeholders(tower_input input, std::uint64_t side) {
    input.units = mask::merged_patches(static_cast<std::int64_t>(side));
    input.per_unit = 1;
    return input;
}

[[nodiscard]] inline std::uint64_t side_of(const hf_joined& model, std::string_view key) {
    return model.config.integer({key}, 2, 1, 0xFFFF);
}

/// Of side² patches beside each other.
[[nodiscard]] inline cost merged_linears(const hf_joined& model, std::uint64_t side, two_linears both) {
    both.in_features = checked_multiply(side * side, model.tower.sizes.hidden_size, "projector");
    both.out_features = model.text.sizes.hidden_size;
    const mask units = mask::merged_patches(static_cast<std::int64_t>(side));
    return both.of(&units);
}

// ---- Mistral-3 ----

[[nodiscard]] inline cost mistral3_projector(const hf_joined& model) {
    const std::uint64_t side = side_of(model, "spatial_merge_size");
    const std::uint64_t h = model.tower.sizes.hidden_size;
    const mask units = mask::merged_patches(static_cast<std::int64_t>(side));
    cost sum;
    sum.add("projector",
            linear{.in_features = checked_multiply(side * side, h, "projector"),
                   .out_features = h,
                   .weight = "merging_layer",
                   .reads = value::stream,
                   .writes = value::made(2)},
            units);
    sum.add_parameters("norm", term::norm, h);
    return sum + llava_linears(model, -1, projector_bias(model, false)).of(&units);
}
[[nodiscard]] inline tower_input mistral3_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, side_of(model, "spatial_merge_size"));
}

// ---- InternVL: a scale in place of a side ----

[[nodiscard]] inline std::uint64_t internvl_side(const hf_joined& model) {
    constexpr std::string_view key = "downsample_ratio";
    const json* given = model.config.find(key);
    const double ratio = given == nullptr ? 0.5 : given->is_number() ? given->get<double>() : 0.0;
    if (ratio != 1.0 && ratio != 0.5 && ratio != 0.25 && ratio != 0.125) {
        throw error(model.config.field(key), "must be 1.0, 0.5, 0.25 or 0.125, got " + shown(*given));
    }
    return static_cast<std::uint64_t>(1.0 / ratio);
}
[[nodiscard]] inline cost internvl_projector(const hf_joined& model) {
    require_patches_only(model, "default");
    const std::uint64_t h = model.text.sizes.hidden_size;
    return merged_linears(model, internvl_side(model), {.up_features = h, .down_features = h, .norm = 2});
}
[[nodiscard]] inline tower_input internvl_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, internvl_side(model));
}

// ---- Cohere: half of what the first linear makes gates the other half ----

[[nodiscard]] inline two_linears gated_alignment(const hf_joined& model, std::uint64_t otherwise) {
    constexpr std::string_view key = "alignment_intermediate_size";
    const std::uint64_t width = model.config.dimension({key}, otherwise);
    if (width % 2 != 0) {
        throw error(model.config.field(key), "must be even, got " + std::to_string(width));
    }
    return {.up_features = width, .down_features = width / 2};
}
[[nodiscard]] inline cost aya_vision_projector(const hf_joined& model) {
    require_patches_only(model, "full");
    two_linears both = gated_alignment(model, model.text.sizes.hidden_size);
    both.norm = 2;
    return merged_linears(model, side_of(model, "downsample_factor"), both);
}
[[nodiscard]] inline cost cohere2_vision_projector(const hf_joined& model) {
    return merged_linears(model, side_of(model, "downsample_factor"), gated_alignment(model, 36864));
}
[[nodiscard]] inline tower_input downsampled_placeholders(const hf_joined& model, tower_input input) {
    return merged_placeholders(input, side_of(model, "downsample_factor"));
}

// ---- Gemma ----

/// What `tokens` of the text see more in each layer because they stand for one image: later tokens of it, and earlier
/// ones beyond the window.
[[nodiscard]] inline cost image_attention(const hf_joined& model, std::uint64_t tokens) {
    const hf_dimensions& sizes = model.text.sizes;
    cost sum;
    for (const char letter : mixer_letters(model.text)) {
        const mask own = mask_of_letter(model.text, letter);
        if (!own.is_causal()) {
            throw error(model.config.field("text_config.use_bidirectional_attention"), "must be false or absent");
        }
        const mask more =
            mask::later_image_tokens(static_cast<std::int64_t>(tokens), own.first() < 0 ? -1 : own.first() + 1);
        sum.add(
            "attention.core",
            attention_core{.num_heads = sizes.num_heads, .qk_head_dim = sizes.head_dim, .v_head_dim = sizes.head_dim},
            more);
    }
    return sum;
}

/// One linear, to a width that the config states and that must be the text's.
[[nodiscard]] inline cost paligemma_projector(const hf_joined& model) {
    const std::uint64_t h = model.text.sizes.hidden_size;
    const std::uint64_t width = model.config.dimension({"projection_dim"}, 2048);
    if (width != h) {
        throw error(model.config.field("projection_dim"),
                    "must be the text's hidden_size (" + std::to_string(h) + "), got " + std::to_string(width));
    }
    cost sum;
    sum.add("projector", linear{.in_features = model.tower.sizes.hidden_size,
                                .out_features = h,
                                .weight = "linear",
                                .reads = value::stream,
                                .writes = value::made(0)});
    sum.add_parameters("bias", term::bias, h);
    return sum;
}
[[nodiscard]] inline std::uint64_t image_patches(const hf_joined& model) {
    return model.tower.family.input(model.tower).image->frame_patches();
}
[[nodiscard]] inline cost paligemma_image_attention(const hf_joined& model) {
    return image_attention(model, image_patches(model));
}
[[nodiscard]] inline tower_input paligemma_placeholders(const hf_joined& model, tower_input input) {
    input.per_frame = image_patches(model);
    return input;
}

/// The patches of an image are pooled to about `mm_tokens_per_image`: squares of patches, without a rest.
[[nodiscard]] inline std::uint64_t gemma3_image_tokens(const hf_joined& model) {
    const std::uint64_t side = model.tower.family.input(model.tower).image->h;
    const std::uint64_t wanted = model.config.dimension({"mm_tokens_per_image"}, 256);
    std::uint64_t per_side = 1;
    while ((per_side + 1) * (per_side + 1) <= wanted) {
        ++per_side;
    }
    if (per_side > side) {
        throw error(model.config.field("mm_tokens_per_image"), "must be at most the patches of an image (" +
                                                                   std::to_string(side * side) + "), got " +
                                                                   std::to_string(wanted));
    }
    const std::uint64_t left = side / (side / per_side);
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
    return image_attention(model, gemma3_image_tokens(model));
}
[[nodiscard]] inline tower_input gemma3_placeholders(const hf_joined& model, tower_input input) {
    input.per_frame = gemma3_image_tokens(model);
    return input;
}

inline constexpr std::array gemma_outer_heads{
    hf_outer_class{"ForConditionalGeneration", "ForCausalLM"},
    hf_outer_class{"Model", "TextModel"},
};

inline constexpr std::array merging_vlms{
    hf_composite{.model_type = "mistral3",
                 .class_prefix = "Mistral3",
                 .heads = outer_heads,
                 .text_type = "mistral",
                 .text_otherwise = R"({"head_dim": 128, "hidden_size": 5120, "intermediate_size": 32768,
                                       "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8,
                                       "sliding_window": null, "vocab_size": 131072})",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "pixtral",
                                    .suffix = "VisionModel",
                                    .projector = mistral3_projector,
                                    .layers_used = feature_layer<-1>,
                                    .placeholders = mistral3_placeholders,
                                    .otherwise = R"({"patch_size": 14, "image_size": 1540})"}},
                 .tie_word_embeddings = true},
    hf_composite{.model_type = "internvl",
                 .class_prefix = "InternVL",
                 .heads = outer_heads,
                 .text_type = "qwen2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "internvl_vision",
                                    .suffix = "VisionModel",
                                    .projector = internvl_projector,
                                    .layers_used = feature_layer<-1>,
                                    .placeholders = internvl_placeholders}},
                 .tie_word_embeddings = true},
    hf_composite{.model_type = "aya_vision",
                 .class_prefix = "AyaVision",
                 .heads = outer_heads,
                 .text_type = "cohere2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = aya_vision_projector,
                                    .layers_used = feature_layer<-1>,
                                    .placeholders = downsampled_placeholders,
                                    .otherwise = R"({"hidden_size": 1152, "intermediate_size": 4304,
                                                     "num_hidden_layers": 26, "num_attention_heads": 14,
                                                     "image_size": 384, "patch_size": 14,
                                                     "vision_use_head": false})"}},
                 .tie_word_embeddings = true},
    hf_composite{.model_type = "cohere2_vision",
                 .class_prefix = "Cohere2Vision",
                 .heads = outer_heads,
                 .text_type = "cohere2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = cohere2_vision_projector,
                                    .placeholders = downsampled_placeholders,
                                    .otherwise = R"({"hidden_size": 1152, "intermediate_size": 3072, "image_size": 512,
                                                     "num_hidden_layers": 27, "num_attention_heads": 12})"}},
                 .tie_word_embeddings = true},
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
                 .heads = gemma_outer_heads,
                 .text_type = "gemma3_text",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "siglip_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = gemma3_projector,
                                    .in_text = gemma3_image_attention,
                                    .placeholders = gemma3_placeholders}},
                 .tie_word_embeddings = true},
};

}  // namespace floptally::detail
