// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>

/// @file
/// Decoders of dense layers with a gated MLP whose norms are not Llama's two a layer.

namespace floptally::detail {

/// Norms of all query and key heads together, by a switch.
[[nodiscard]] inline cost switched_query_key_norm(const hf_model& model, std::string_view key) {
    const hf_dimensions& sizes = model.sizes;
    cost norms;
    if (model.config.is_on(key)) {
        norms.add_parameters("norm", term::norm,
                             checked_multiply(sizes.num_heads + sizes.num_kv_heads, sizes.head_dim, "norm"));
    }
    return norms;
}
[[nodiscard]] inline cost stablelm_norms(const hf_model& model, const hf_layer& at) {
    cost norms = switched_query_key_norm(model, "qk_layernorm");
    // In parallel, attention and MLP share one norm.
    norms.add_parameters("norm", term::norm,
                         model.config.flag("use_parallel_residual", false) ? 0 : 2 * at.where.hidden_size);
    return norms;
}
/// Before the last matrix of the attention and of the MLP.
[[nodiscard]] inline cost bitnet_norms(const hf_model& model, const hf_layer& at) {
    return cost{}.add_parameters("norm", term::norm, at.where.hidden_size + model.sizes.intermediate_size);
}
[[nodiscard]] inline cost hyperclovax_norms(const hf_model& model, const hf_layer& at) {
    return cost{}.add_parameters("norm", term::norm,
                                 model.config.flag("use_post_norm", true) ? 2 * at.where.hidden_size : 0);
}

inline constexpr std::array renormed_decoders{
    hf_family{.model_type = "olmo",
              .class_prefix = "Olmo",
              .heads = all_decoder_heads.first(3),
              .vocab_size = 50304,
              .hidden_size = 4096,
              .intermediate_size = 11008,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .norm = norm_kind::none},
    hf_family{.model_type = "olmo2",
              .class_prefix = "Olmo2",
              .heads = all_decoder_heads.first(3),
              .vocab_size = 50304,
              .hidden_size = 4096,
              .intermediate_size = 11008,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .query_key_norm = qk_norm::full_width},
    hf_family{
        .model_type = "cohere",
        .class_prefix = "Cohere",
        .heads = all_decoder_heads.first(2),
        .vocab_size = 256000,
        .hidden_size = 8192,
        .intermediate_size = 22528,
        .num_hidden_layers = 40,
        .num_attention_heads = 64,
        .kv_heads_may_be_null = true,
        .tie_word_embeddings = true,
        .qkv_bias = if_attention_bias,
        .output_bias = if_attention_bias,
        .norms_per_layer = 1,
        .more = [](const hf_model& model, const hf_layer&) { return switched_query_key_norm(model, "use_qk_norm"); }},
    hf_family{.model_type = "glm4",
              .class_prefix = "Glm4",
              .heads = all_decoder_heads.first(4),
              .vocab_size = 151552,
              .hidden_size = 4096,
              .intermediate_size = 13696,
              .num_hidden_layers = 40,
              .num_attention_heads = 32,
              .num_key_value_heads = 2,
              .head_dim = 128,
              .qkv_bias = {"attention_bias", true},
              .norms_per_layer = 4},
    hf_family{.model_type = "stablelm",
              .class_prefix = "StableLm",
              .heads = all_decoder_heads.first(4),
              .vocab_size = 50304,
              .hidden_size = 2560,
              .intermediate_size = 6912,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .num_key_value_heads = 32,
              .head_dim_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = {"use_qkv_bias", false},
              .norm = norm_kind::layer,
              .norms_per_layer = 1,
              .more = stablelm_norms,
              .resolve = require_heads_fill_hidden},
    hf_family{.model_type = "bitnet",
              .class_prefix = "BitNet",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 128256,
              .hidden_size = 2560,
              .intermediate_size = 6912,
              .num_hidden_layers = 30,
              .num_attention_heads = 20,
              .num_key_value_heads = 5,
              .kv_heads_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .more = bitnet_norms,
              .resolve = require_heads_fill_hidden},
    hf_family{.model_type = "hyperclovax",
              .class_prefix = "HyperCLOVAX",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 32000,
              .hidden_size = 4096,
              .intermediate_size = 11008,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .head_dim_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp_bias = {"mlp_bias", false},
              .more = hyperclovax_norms},
};

}  // namespace floptally::detail
