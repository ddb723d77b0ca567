// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>

/// @file
/// Models whose text reaches an image by cross attention: Llama 3.2 Vision ("mllama").

namespace floptally::detail {

// ---- the tower ----

inline constexpr image_stem mllama_stem{
    .image = {{"image_size"}, 448}, .patch = {{"patch_size"}, 14}, .bias = false, .class_rows = 2};

[[nodiscard]] inline std::uint64_t mllama_tiles(const hf_model& tower) { return tower.read({{"max_num_tiles"}, 4}); }

/// The layers of two encoders, the second of which has gates.
inline void mllama_depth(hf_model& model) { model.sizes.num_layers += model.read_or_none({{"num_global_layers"}, 8}); }

/// The tiles of an image see each other, with the class token of each.
[[nodiscard]] inline cost mllama_vision_attention(const hf_model& model, const hf_layer& at) {
    layer tiles = at.where;
    tiles.attends = mask::clip_squares(1);
    return read_gqa(model).cost(tiles);
}
[[nodiscard]] inline cost mllama_vision_gates(const hf_model& model, const hf_layer& at) {
    cost sum;
    const bool gated = at.where.index >= model.sizes.num_layers - model.read_or_none({{"num_global_layers"}, 8});
    sum.add_parameters("norm", term::norm, gated ? 2 : 0);
    return sum;
}

/// Positions of patches, of tiles, and of patches within tiles, of each aspect ratio and of none, with their gates.
[[nodiscard]] inline cost mllama_tile_positions(const hf_model& model) {
    constexpr std::string_view key = "supported_aspect_ratios";
    const json* given = model.config.has_value(key) ? model.config.array(key) : nullptr;
    const std::uint64_t ratios = given == nullptr ? 8 : given->size();
    const std::uint64_t tiles = mllama_tiles(model);
    if (given == nullptr && tiles != 4) {
        throw error(model.config.field("max_num_tiles"),
                    "must be 4 where supported_aspect_ratios is absent, got " + std::to_string(tiles));
    }
    const std::uint64_t patches = image_grid(model, mllama_stem).frame_patches() + 1;
    const std::uint64_t rows = checked_multiply((ratios + 1) * tiles, patches + 2, "embedding");
    cost sum;
    sum.add_parameters("embedding", term::position_embedding,
                       checked_multiply(rows, model.sizes.hidden_size, "embedding"));
    sum.add_parameters("norm", term::norm, 3);
    return sum;
}

/// What the last layer and some before it make stands side by side.
[[nodiscard]] inline std::uint64_t mllama_output(const hf_model& tower) {
    constexpr std::string_view key = "intermediate_layers_indices";
    const json* given = tower.config.has_value(key) ? tower.config.array(key) : nullptr;
    const std::uint64_t layers = given == nullptr ? 5 : given->size();
    const std::uint64_t width = checked_multiply(layers + 1, tower.sizes.hidden_size, "projector");
    require_width(tower.config, "vision_output_dim", tower.read({{"vision_output_dim"}, 7680}), width,
                  "hidden_size x (1 + intermediate_layers_indices)");
    return width;
}

[[nodiscard]] inline cost mllama_projector(const hf_joined& model) {
    const std::uint64_t h = model.text.sizes.hidden_size;
    cost sum;
    sum.add("projector", linear{.in_features = mllama_output(model.tower),
                                .out_features = h,
                                .reads = value::stream,
                                .writes = value::made(0)});
    sum.add_parameters("bias", term::bias, h);
    return sum.with_prefix_tokens(1);
}

// ---- the text ----

/// X: a layer whose attention is over the keys of an image, and over no text.
[[nodiscard]] inline std::string mllama_mixers(const hf_model& model) {
    constexpr std::string_view key = "cross_attention_layers";
    if (model.config.has_value(key)) {
        return marked(model, every_layer(model, 'F'), key, 'X');
    }
    return where(model, 'X', 'F', [](std::uint64_t i) { return i % 5 == 3 && i < 40; });
}
[[nodiscard]] inline cost mllama_attention(const hf_model& model, const hf_layer& at) {
    if (at.mixer != 'X') {
        return gqa_part(model, at);
    }
    // Norms of queries and keys, and two gates.
    return cross_attention{.num_heads = model.sizes.num_heads,
                           .num_kv_heads = model.sizes.num_kv_heads,
                           .head_dim = model.sizes.head_dim,
                           .elementwise = {.norm = 2 * model.sizes.head_dim + 2}}
        .cost(at.where);
}
inline void mllama_untied(hf_model& model) { model.refuse_flag("tie_word_embeddings", true); }
/// Tokens that only the embedding knows.
[[nodiscard]] inline cost mllama_special_tokens(const hf_model& model) {
    cost sum;
    sum.add_parameters("embedding", term::embedding, 8 * model.sizes.hidden_size);
    return sum;
}

inline constexpr std::array mllama_parts{
    hf_family{.model_type = "mllama_text_model",
              .class_prefix = "Mllama",
              .heads = std::span(text_model_heads).first(2),
              .vocab_size = 128256,
              .hidden_size = 4096,
              .intermediate_size = 14336,
              .num_hidden_layers = 40,
              .num_attention_heads = 32,
              .num_key_value_heads = 8,
              .has_head_dim = false,
              .mixers = mllama_mixers,
              .attention = mllama_attention,
              .once = mllama_special_tokens,
              .resolve = mllama_untied},
    [] {
        hf_family family = vit_like({.model_type = "mllama_vision_model",
                                     .class_prefix = "Mllama",
                                     .heads = vision_model_heads,
                                     .also = {.num_attention_heads = "attention_heads"},
                                     .hidden_size = 1280,
                                     .intermediate_size = 5120,
                                     .num_hidden_layers = 32,
                                     .num_attention_heads = 16,
                                     .embedding_norm = always,
                                     .attention = mllama_vision_attention,
                                     .more = mllama_vision_gates,
                                     .once = mllama_tile_positions,
                                     .resolve = mllama_depth,
                                     .stem = stem_of<mllama_stem>,
                                     .prefix_tokens = class_tokens<1>,
                                     .input = fixed_images<mllama_stem>});
        family.output_bias = {};
        return family;
    }(),
};

inline constexpr std::array cross_attention_composites{
    hf_composite{.model_type = "mllama",
                 .class_prefix = "Mllama",
                 .heads = outer_heads_of_text_model,
                 .text_type = "mllama_text_model",
                 .towers = {hf_slot{.key = "vision_config",
                                    .model_type = "mllama_vision_model",
                                    .suffix = "VisionModel",
                                    .projector = mllama_projector}},
                 .tie = tie_flag::text,
                 .note =
                     "an image is a grid of as many frames as it has tiles; keys of a text: those of all its tiles, "
                     "tiles x (patches + 1)"},
};

}  // namespace floptally::detail
