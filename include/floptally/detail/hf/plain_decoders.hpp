// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/parts.hpp>

/// @file
/// Decoders whose layers are all dense, with an MLP of two matrices.

namespace floptally::detail {

/// Norms of queries and keys per head, with biases, where `qk_layernorm`.
template <bool Default>
[[nodiscard]] cost query_key_layer_norms(const hf_model& model, const hf_layer&) {
    cost sum;
    if (model.config.flag("qk_layernorm", Default)) {
        sum.add_parameters("norm", term::norm, 4 * (model.sizes.hidden_size / model.sizes.num_heads));
    }
    return sum;
}

/// The class has no number of its own for key and value heads.
inline void require_kv_heads(hf_model& model) {
    model.sizes.num_kv_heads = model.config.dimension({"num_key_value_heads"});
}

/// xIELU has two parameters.
[[nodiscard]] inline cost apertus_activation(const hf_model& model, const hf_layer&) {
    cost sum;
    sum.add_parameters("bias", term::bias, model.config.text("hidden_act", "xielu") == "xielu" ? 2 : 0);
    return sum;
}

inline constexpr hf_family gpt2_family{.model_type = "gpt2",
                                       .class_prefix = "GPT2",
                                       .heads = gpt2_heads,
                                       .also = {.hidden_size = "n_embd",
                                                .num_hidden_layers = "n_layer",
                                                .num_attention_heads = "n_head",
                                                .max_position_embeddings = "n_positions"},
                                       .vocab_size = 50257,
                                       .hidden_size = 768,
                                       .intermediate_keys = {"n_inner"},
                                       .num_hidden_layers = 12,
                                       .num_attention_heads = 12,
                                       .has_kv_heads = false,
                                       .has_head_dim = false,
                                       .heads_divide_hidden = true,
                                       .positions = 1024,
                                       .tie_word_embeddings = true,
                                       .qkv_bias = always,
                                       .output_bias = always,
                                       .mlp_bias = always,
                                       .mlp = mlp_kind::plain,
                                       .norm = norm_kind::layer};

inline constexpr std::array plain_decoders{
    gpt2_family,
    renamed(gpt2_family, "gpt-sw3"),
    hf_family{.model_type = "gpt_neox",
              .class_prefix = "GPTNeoX",
              .heads = gpt_neox_heads,
              .vocab_size = 50432,
              .hidden_size = 6144,
              .intermediate_size = 24576,
              .num_hidden_layers = 44,
              .num_attention_heads = 64,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .qkv_bias = {"attention_bias", true},
              .output_bias = {"attention_bias", true},
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer},
    hf_family{.model_type = "starcoder2",
              .class_prefix = "Starcoder2",
              .heads = all_decoder_heads.first(4),
              .vocab_size = 49152,
              .hidden_size = 3072,
              .intermediate_size = 12288,
              .num_hidden_layers = 30,
              .num_attention_heads = 24,
              .num_key_value_heads = 2,
              .head_dim_may_be_null = true,
              .tie_word_embeddings = true,
              .qkv_bias = {"use_bias", true},
              .output_bias = {"use_bias", true},
              .mlp_bias = {"use_bias", true},
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .mixers = all_sliding},
    hf_family{.model_type = "phi",
              .class_prefix = "Phi",
              .heads = phi_heads,
              .vocab_size = 51200,
              .hidden_size = 2048,
              .intermediate_size = 8192,
              .num_hidden_layers = 24,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .norms_per_layer = 1,
              .more = query_key_layer_norms<false>},
    hf_family{.model_type = "nemotron",
              .class_prefix = "Nemotron",
              .heads = all_decoder_heads,
              .vocab_size = 256000,
              .hidden_size = 6144,
              .intermediate_size = 24576,
              .num_hidden_layers = 32,
              .num_attention_heads = 48,
              .head_dim_may_be_null = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp_bias = {"mlp_bias", false},
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .resolve = require_kv_heads},
    hf_family{.model_type = "persimmon",
              .class_prefix = "Persimmon",
              .heads = all_decoder_heads.first(4),
              .vocab_size = 262144,
              .hidden_size = 4096,
              .intermediate_size = 16384,
              .num_hidden_layers = 36,
              .num_attention_heads = 64,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .more = query_key_layer_norms<true>},
    hf_family{.model_type = "arcee",
              .class_prefix = "Arcee",
              .heads = all_decoder_heads,
              .vocab_size = 32000,
              .hidden_size = 2560,
              .intermediate_size = 18432,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .head_dim_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp_bias = {"mlp_bias", false},
              .mlp = mlp_kind::plain},
    hf_family{.model_type = "apertus",
              .class_prefix = "Apertus",
              .heads = apertus_heads,
              .vocab_size = 131072,
              .hidden_size = 4096,
              .intermediate_size = 14336,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp = mlp_kind::plain,
              .query_key_norm = qk_norm::per_head,
              .more = apertus_activation},
    hf_family{.model_type = "jais2",
              .class_prefix = "Jais2",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 150272,
              .hidden_size = 3328,
              .intermediate_size = 26624,
              .num_hidden_layers = 32,
              .num_attention_heads = 26,
              .kv_heads_may_be_null = true,
              .head_dim_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = {"attention_bias", true},
              .output_bias = {"attention_bias", true},
              .mlp_bias = {"mlp_bias", true},
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer},
    // Its norms, of queries and keys too, have no weights.
    hf_family{.model_type = "nanochat",
              .class_prefix = "NanoChat",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 50304,
              .hidden_size = 768,
              .intermediate_size = 8192,
              .num_hidden_layers = 12,
              .num_attention_heads = 6,
              .kv_heads_may_be_null = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::none},
};

}  // namespace floptally::detail
