// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/parts.hpp>

/// @file
/// Decoders whose layers are all dense, with an MLP of two matrices.

namespace floptally::detail {

inline constexpr std::array plain_decoders{
    hf_family{.model_type = "gpt2",
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
              .norm = norm_kind::layer},
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
};

}  // namespace floptally::detail
