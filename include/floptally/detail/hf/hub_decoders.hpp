// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/latent_decoders.hpp>
#include <floptally/detail/hf/latent_parts.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/error.hpp>

/// @file
/// Decoders whose classes are not in transformers but beside the checkpoint, and whose matmuls are those of a known
/// type. tests/golden/published.json has a published checkpoint of each, equal in its number of parameters. Defaults of
/// such a class are not pinned by a release, so the sizes must be given.

namespace floptally::detail {

inline constexpr std::array qwen_heads{
    head{"LMHeadModel", {{vocabulary_width}}},
    head{"Model", {}},
};

/// Qwen-1 states the width of gate and up together.
inline void halve_qwen_width(hf_model& model) {
    require_heads_fill_hidden(model);
    if (model.sizes.intermediate_size % 2 != 0) {
        throw error(model.config.field("intermediate_size"),
                    "must be even, got " + std::to_string(model.sizes.intermediate_size));
    }
    model.sizes.intermediate_size /= 2;
}

inline constexpr std::array hub_decoders{
    renamed(latent_decoders.front(), "kimi_k2"),
    // DeepSeekMoE: the experts of DeepSeek-V2 behind plain attention.
    hf_family{.model_type = "deepseek",
              .class_prefix = "Deepseek",
              .heads = all_decoder_heads.first(3),
              .intermediate_size = 11008,
              .kv_heads_may_be_null = true,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .feeds = dense_first_feeds,
              .experts = {.count = {{"n_routed_experts"}},
                          .width = {{"moe_intermediate_size"}, 1407},
                          .shared_are = shared_experts::of_count,
                          .shared = {{"n_shared_experts"}, 0},
                          .first_dense = {{"first_k_dense_replace"}, 0}},
              .resolve = refuse_moe_layer_freq},
    hf_family{.model_type = "baichuan",
              .class_prefix = "Baichuan",
              .heads = all_decoder_heads.first(2),
              .intermediate_size = 11008,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true},
    hf_family{.model_type = "internlm",
              .class_prefix = "InternLM",
              .heads = all_decoder_heads.first(2),
              .intermediate_size = 11008,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .qkv_bias = {"bias", true},
              .output_bias = {"bias", true}},
    hf_family{.model_type = "internlm2",
              .class_prefix = "InternLM2",
              .heads = all_decoder_heads.first(3),
              .intermediate_size = 11008,
              .kv_heads_may_be_null = true,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .qkv_bias = {"bias", true},
              .output_bias = {"bias", true}},
    hf_family{.model_type = "minicpm",
              .class_prefix = "MiniCPM",
              .heads = all_decoder_heads.first(3),
              .intermediate_size = 11008,
              .kv_heads_may_be_null = true,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias},
    hf_family{.model_type = "exaone",
              .class_prefix = "Exaone",
              .heads = all_decoder_heads.first(3),
              .also = {.num_hidden_layers = "num_layers"},
              .kv_heads_may_be_null = true,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true},
    hf_family{.model_type = "qwen",
              .class_prefix = "QWen",
              .heads = qwen_heads,
              .also = {.head_dim = "kv_channels"},
              .intermediate_size = 22016,
              .has_kv_heads = false,
              .head_dim = 128,
              .qkv_bias = always,
              .resolve = halve_qwen_width},
};

}  // namespace floptally::detail
