// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/error.hpp>

/// @file
/// Decoders of dense layers with a gated MLP, in which every token sees all before it: Llama and what is built like it.

namespace floptally::detail {

// These run Llama's classes; a file may name either.
inline constexpr std::array internlm3_heads{
    head{"InternLM3ForCausalLM", {{vocabulary_width}}},
    head{"InternLM3Model", {}},
    head{"LlamaForCausalLM", {{vocabulary_width}}},
    head{"LlamaModel", {}},
};
inline constexpr std::array iquestcoder_heads{
    head{"IQuestCoderForCausalLM", {{vocabulary_width}}},
    head{"IQuestCoderModel", {}},
    head{"LlamaForCausalLM", {{vocabulary_width}}},
    head{"LlamaModel", {}},
};

// The file's names and those of the configuration class.
inline constexpr presence internlm3_attention_bias{.key = "qkv_bias", .also = "attention_bias"};
inline constexpr presence internlm3_mlp_bias{.key = "bias", .also = "mlp_bias"};
inline void require_one_internlm3_bias(hf_model& model) {
    const bool attention = model.has(internlm3_attention_bias);
    if (attention != model.has(internlm3_mlp_bias)) {
        throw error(model.config.field(model.config.spelling({"bias", "mlp_bias"})),
                    std::string("must be qkv_bias (")
                        .append(attention ? "true" : "false")
                        .append("), got ")
                        .append(attention ? "false" : "true"));
    }
}

inline constexpr std::array gated_decoders{
    hf_family{.model_type = "llama",
              .class_prefix = "Llama",
              .heads = all_decoder_heads,
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
              .mlp_bias = {"mlp_bias", false}},
    hf_family{.model_type = "gemma",
              .class_prefix = "Gemma",
              .heads = all_decoder_heads.first(4),
              .vocab_size = 256000,
              .hidden_size = 3072,
              .intermediate_size = 24576,
              .num_hidden_layers = 28,
              .num_attention_heads = 16,
              .num_key_value_heads = 16,
              .head_dim = 256,
              .tie_word_embeddings = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias},
    hf_family{.model_type = "granite",
              .class_prefix = "Granite",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 32000,
              .hidden_size = 4096,
              .intermediate_size = 11008,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp_bias = {"mlp_bias", false}},
    hf_family{.model_type = "glm",
              .class_prefix = "Glm",
              .heads = all_decoder_heads.first(4),
              .vocab_size = 151552,
              .hidden_size = 4096,
              .intermediate_size = 13696,
              .num_hidden_layers = 40,
              .num_attention_heads = 32,
              .num_key_value_heads = 2,
              .head_dim = 128,
              .qkv_bias = {"attention_bias", true}},
    hf_family{.model_type = "ernie4_5",
              .class_prefix = "Ernie4_5",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 103424,
              .hidden_size = 1024,
              .intermediate_size = 3072,
              .num_hidden_layers = 18,
              .num_attention_heads = 16,
              .num_key_value_heads = 2,
              .kv_heads_may_be_null = true,
              .head_dim = 128,
              .head_dim_may_be_null = true,
              .tie_word_embeddings = true,
              .qkv_bias = {"use_bias", false, true},
              .output_bias = {"use_bias", false, true},
              .mlp_bias = {"use_bias", false, true}},
    hf_family{.model_type = "seed_oss",
              .class_prefix = "SeedOss",
              .heads = all_decoder_heads,
              .vocab_size = 155136,
              .hidden_size = 4096,
              .intermediate_size = 27648,
              .num_hidden_layers = 64,
              .num_attention_heads = 80,
              .num_key_value_heads = 8,
              .kv_heads_may_be_null = true,
              .head_dim = 128,
              .head_dim_may_be_null = true,
              .qkv_bias = {"attention_bias", true},
              .output_bias = {"attention_out_bias", false},
              .mlp_bias = {"mlp_bias", false}},
    hf_family{.model_type = "helium",
              .class_prefix = "Helium",
              .heads = all_decoder_heads.first(4),
              .vocab_size = 48000,
              .hidden_size = 2560,
              .intermediate_size = 7040,
              .num_hidden_layers = 24,
              .num_attention_heads = 20,
              .num_key_value_heads = 20,
              .head_dim = 128,
              .qkv_bias = if_attention_bias,
              .mlp_bias = {"mlp_bias", false},
              .resolve = require_heads_fill_hidden},
    hf_family{.model_type = "hunyuan_v1_dense",
              .class_prefix = "HunYuanDenseV1",
              .heads = all_decoder_heads.first(3),
              .vocab_size = 290943,
              .hidden_size = 4096,
              .intermediate_size = 11008,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .query_key_norm = qk_norm::per_head,
              .resolve = [](hf_model& model) { model.sizes.head_dim = model.config.dimension({"head_dim"}); }},
    hf_family{.model_type = "internlm3",
              .class_prefix = "",
              .heads = internlm3_heads,
              .vocab_size = 128512,
              .hidden_size = 4096,
              .intermediate_size = 10240,
              .num_hidden_layers = 48,
              .num_attention_heads = 32,
              .num_key_value_heads = 2,
              .kv_heads_may_be_null = true,
              .head_dim = 128,
              .head_dim_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = internlm3_attention_bias,
              .output_bias = internlm3_attention_bias,
              .mlp_bias = internlm3_mlp_bias,
              .resolve = require_one_internlm3_bias},
    hf_family{.model_type = "iquestcoder",
              .class_prefix = "",
              .heads = iquestcoder_heads,
              .vocab_size = 76800,
              .hidden_size = 5120,
              .intermediate_size = 27648,
              .num_hidden_layers = 80,
              .num_attention_heads = 40,
              .num_key_value_heads = 8,
              .kv_heads_may_be_null = true,
              .head_dim = 128,
              .head_dim_may_be_null = true,
              .heads_divide_hidden = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .mlp_bias = {"mlp_bias", false},
              .resolve = [](hf_model& model) { model.refuse_flag("use_sliding_window", true); }},
};

}  // namespace floptally::detail
