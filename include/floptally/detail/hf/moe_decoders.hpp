// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/parts.hpp>

/// @file
/// Decoders with experts.

namespace floptally::detail {

inline constexpr std::array moe_decoders{
    hf_family{
        .model_type = "mixtral",
        .class_prefix = "Mixtral",
        .heads = all_decoder_heads,
        .vocab_size = 32000,
        .hidden_size = 4096,
        .intermediate_size = 14336,
        .num_hidden_layers = 32,
        .num_attention_heads = 32,
        .num_key_value_heads = 8,
        .head_dim_may_be_null = true,
        .mixers = all_sliding,
        .feeds = all_experts,
        .experts = {.count = {{"num_experts", "num_local_experts"}, 8}, .per_token = {{"num_experts_per_tok"}, 2}}},
    hf_family{.model_type = "qwen2_moe",
              .class_prefix = "Qwen2Moe",
              .heads = all_decoder_heads,
              .vocab_size = 151936,
              .hidden_size = 2048,
              .intermediate_size = 5632,
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .num_key_value_heads = 16,
              .qkv_bias = {"qkv_bias", true},
              .mixers = even_sliding_below_max_window_layers,
              .layer_types = "FS",
              .sliding_window = 4096,
              .window_switch = true,
              .feeds = qwen_feeds,
              .experts = {.count = {{"num_experts"}, 60},
                          .per_token = {{"num_experts_per_tok"}, 4},
                          .width = {{"moe_intermediate_size"}, 1408},
                          .shared_are = shared_experts::of_width,
                          .shared = {{"shared_expert_intermediate_size"}, 5632},
                          .shared_gate = true}},
    hf_family{.model_type = "qwen3_moe",
              .class_prefix = "Qwen3Moe",
              .heads = all_decoder_heads,
              .vocab_size = 151936,
              .hidden_size = 2048,
              .intermediate_size = 6144,
              .num_hidden_layers = 24,
              .num_attention_heads = 32,
              .num_key_value_heads = 4,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .query_key_norm = qk_norm::per_head,
              .mixers = all_sliding,
              .sliding_window = 4096,
              .window_switch = true,
              .feeds = qwen_feeds,
              .experts = {.count = {{"num_local_experts", "num_experts"}, 128},
                          .per_token = {{"num_experts_per_tok"}, 8},
                          .width = {{"moe_intermediate_size"}, 768}}},
    hf_family{.model_type = "gpt_oss",
              .class_prefix = "GptOss",
              .heads = all_decoder_heads.first(4),
              .vocab_size = 201088,
              .hidden_size = 2880,
              .intermediate_size = 2880,
              .num_hidden_layers = 36,
              .num_attention_heads = 64,
              .num_key_value_heads = 8,
              .head_dim = 64,
              .qkv_bias = {"attention_bias", true},
              .output_bias = {"attention_bias", true},
              .attention_sinks = true,
              .mixers = by_period,
              .period = "SF",
              .layer_types = "FS",
              .sliding_window = 128,
              .feeds = all_experts,
              .experts = {.count = {{"num_experts", "num_local_experts"}, 128},
                          .per_token = {{"num_experts_per_tok"}, 4},
                          .router_bias = true,
                          .bias = true}},
};

}  // namespace floptally::detail
