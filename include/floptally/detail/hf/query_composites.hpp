// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/query_parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/model_config.hpp>

/// @file
/// BLIP-2: learned queries see an image through a Q-Former (arXiv:2301.12597), and the text sees the queries.

namespace floptally::detail {

inline constexpr image_stem blip_stem{.patch = {{"patch_size"}, 14}, .channels = {{}, 3}};

inline constexpr std::array query_towers{
    vit_like({.model_type = "blip_2_vision_model",
              .class_prefix = "Blip2",
              .heads = vision_model_heads,
              .hidden_size = 1408,
              .intermediate_size = 6144,
              .num_hidden_layers = 39,
              .num_attention_heads = 16,
              .qkv_bias = if_qkv_bias,
              .attention = fused_gqa_part,
              .stem = stem_of<blip_stem>,
              .prefix_tokens = class_tokens<1>,
              .input = fixed_images<blip_stem>}),
};

[[nodiscard]] inline std::uint64_t query_tokens(const hf_joined& model) {
    return model.config.dimension({"num_query_tokens"}, 32);
}

/// The Q-Former and a linear to the text's width. Its layers are BERT's, with attention over the image in one of
/// `cross_attention_frequency`, beginning with the first.
[[nodiscard]] inline cost q_former(const hf_joined& model) {
    constexpr std::string_view key = "qformer_config";
    const json none = json::object();
    const config_fields config(model.config.has_value(key) ? *model.config.find(key) : none, model.config.field(key));
    if (config.flag("use_qformer_text_input", false)) {
        throw error(config.field("use_qformer_text_input"), "must be false or absent where queries alone enter");
    }
    const std::uint64_t queries = query_tokens(model);
    const std::uint64_t h = config.dimension({"hidden_size"}, 768);
    const std::uint64_t inner = config.dimension({"intermediate_size"}, 3072);
    const std::uint64_t heads = config.dimension({"num_attention_heads"}, 12);
    const std::uint64_t layers = config.integer({"num_hidden_layers"}, 12, 0, max_layers);
    const std::uint64_t period = config.integer({"cross_attention_frequency"}, 2, 1, max_layers);
    if (h % heads != 0) {
        throw error(config.field("num_attention_heads"),
                    "must divide hidden_size (" + std::to_string(h) + "), got " + std::to_string(heads));
    }
    query_attention attention{.queries = queries,
                              .num_heads = heads,
                              .num_kv_heads = heads,
                              .head_dim = h / heads,
                              .hidden_size = h,
                              .context_size = model.tower.sizes.hidden_size,
                              .over_context = false};
    cost each = attention.of() + query_mlp{.queries = queries, .hidden_size = h, .intermediate_size = inner}.of();
    each.add_parameters("bias", term::bias, 5 * h + inner);
    each.add_parameters("norm", term::norm, 2 * 2 * h);
    attention.over_context = true;
    attention.over_queries = false;
    cost cross = attention.of();
    cross.add_parameters("bias", term::bias, 4 * h);
    cross.add_parameters("norm", term::norm, 2 * h);
    const std::uint64_t text = model.text.sizes.hidden_size;
    cost sum = layers * each + (layers + period - 1) / period * cross.with_prefix_tokens(1) +
               query_linear("projector",
                            {.in_features = h,
                             .out_features = text,
                             .weight = "language_projection",
                             .reads = value::stream,
                             .writes = value::made(4)},
                            queries);
    sum.add_parameters("bias", term::bias, text);
    sum.add_parameters("norm", term::norm, 2 * h);
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(queries, h, "embedding"));
    return sum;
}
/// Queries stand in the text, or before the encoder of one that has two sides: among its keys.
[[nodiscard]] inline tower_input query_placeholders(const hf_joined& model, tower_input input) {
    input.per_frame = model.text.family.encoder_side == nullptr ? query_tokens(model) : 0;
    return input;
}

/// Both have a language model with an lm_head.
inline constexpr std::array blip_heads{
    hf_outer_class{
        .suffix = "ForConditionalGeneration", .text_suffix = "ForCausalLM", .text_to_text = "ForConditionalGeneration"},
    hf_outer_class{.suffix = "Model", .text_suffix = "ForCausalLM", .text_to_text = "ForConditionalGeneration"},
};

inline constexpr std::array query_composites{
    hf_composite{.model_type = "blip-2",
                 .class_prefix = "Blip2",
                 .heads = blip_heads,
                 .text_type = "opt",
                 .towers = {hf_slot{.key = "vision_config",
                                    .suffix = "VisionModel",
                                    .projector = q_former,
                                    .placeholders = query_placeholders,
                                    .family = &query_towers[0]}},
                 .tie = tie_flag::text},
};

}  // namespace floptally::detail
