// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/parts.hpp>

/// @file
/// Encoders.

namespace floptally::detail {

/// Layers x heads + 1 parameters that training never runs.
[[nodiscard]] inline cost esm_contact_head(const hf_model& model) {
    cost sum;
    sum.add_parameters("bias", term::bias, model.sizes.num_layers * model.sizes.num_heads + 1);
    return sum;
}

inline constexpr std::array encoders{
    hf_family{.model_type = "esm",
              .class_prefix = "Esm",
              .heads = esm_heads,
              .encoder = true,
              .hidden_size = 768,
              .intermediate_size = 3072,
              .num_hidden_layers = 12,
              .num_attention_heads = 12,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .positions = 1026,
              .positions_by_type = true,
              .embedding_norm = {"emb_layer_norm_before", false, true},
              .tie_word_embeddings = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .once = esm_contact_head},
    hf_family{.model_type = "bert",
              .class_prefix = "Bert",
              .heads = bert_heads,
              .encoder = true,
              .vocab_size = 30522,
              .hidden_size = 768,
              .intermediate_size = 3072,
              .num_hidden_layers = 12,
              .num_attention_heads = 12,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .positions = 512,
              .segments = 2,
              .embedding_norm = always,
              .tie_word_embeddings = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .final_norm = false},
};

}  // namespace floptally::detail
