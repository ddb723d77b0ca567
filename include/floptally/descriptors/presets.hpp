// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/transformer.hpp>

/// @file
/// Published models as constants: `constexpr constant_cost model = presets::llama_3_8b.cost();`. Their dimensions are
/// those of each model's published config.json. `tests/descriptors/presets.test.cpp` checks their numbers of parameters
/// and FLOPs.

/// Published models as constants. Pass one to a `flop_counter` or a `meter`.
namespace floptally::inline v0_3::presets {

inline constexpr transformer<mha, gated_mlp> llama_2_7b{.hidden_size = 4096,
                                                        .num_layers = 32,
                                                        .attention = {.num_heads = 32, .head_dim = 128},
                                                        .feed_forward = {.intermediate_size = 11008},
                                                        .vocab = {.size = 32000},
                                                        .layer_elementwise = {.norm = 2 * 4096},
                                                        .final_elementwise = {.norm = 4096}};

inline constexpr transformer<gqa, gated_mlp> llama_3_8b{
    .hidden_size = 4096,
    .num_layers = 32,
    .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128},
    .feed_forward = {.intermediate_size = 14336},
    .vocab = {.size = 128256},
    .layer_elementwise = {.norm = 2 * 4096},
    .final_elementwise = {.norm = 4096}};

inline constexpr transformer<gqa, gated_mlp> llama_3_70b{
    .hidden_size = 8192,
    .num_layers = 80,
    .attention = {.num_heads = 64, .num_kv_heads = 8, .head_dim = 128},
    .feed_forward = {.intermediate_size = 28672},
    .vocab = {.size = 128256},
    .layer_elementwise = {.norm = 2 * 8192},
    .final_elementwise = {.norm = 8192}};

inline constexpr transformer<gqa, gated_mlp> llama_3_1_405b{
    .hidden_size = 16384,
    .num_layers = 126,
    .attention = {.num_heads = 128, .num_kv_heads = 8, .head_dim = 128},
    .feed_forward = {.intermediate_size = 53248},
    .vocab = {.size = 128256},
    .layer_elementwise = {.norm = 2 * 16384},
    .final_elementwise = {.norm = 16384}};

/// Every layer has a sliding window of 4096 tokens.
inline constexpr transformer<gqa, gated_mlp> mistral_7b{
    .hidden_size = 4096,
    .num_layers = 32,
    .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128},
    .feed_forward = {.intermediate_size = 14336},
    .vocab = {.size = 32000},
    .masks = mask::sliding_window(4096),
    .layer_elementwise = {.norm = 2 * 4096},
    .final_elementwise = {.norm = 4096}};

inline constexpr transformer<gqa, moe> mixtral_8x7b{
    .hidden_size = 4096,
    .num_layers = 32,
    .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128},
    .feed_forward = {.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 14336},
    .vocab = {.size = 32000},
    .layer_elementwise = {.norm = 2 * 4096},
    .final_elementwise = {.norm = 4096}};

/// Every layer has query and key norms of head_dim.
inline constexpr transformer<gqa, moe> qwen3_30b_a3b{
    .hidden_size = 2048,
    .num_layers = 48,
    .attention = {.num_heads = 32, .num_kv_heads = 4, .head_dim = 128, .elementwise = {.norm = 2 * 128}},
    .feed_forward = {.num_experts = 128, .num_experts_per_tok = 8, .intermediate_size = 768},
    .vocab = {.size = 151936},
    .layer_elementwise = {.norm = 2 * 2048},
    .final_elementwise = {.norm = 2048}};

/// Layers with a window of 128 tokens and full layers alternate. Every linear has a bias. Each head has one learned
/// attention sink.
inline constexpr transformer<gqa, moe> gpt_oss_20b{
    .hidden_size = 2880,
    .num_layers = 24,
    .attention = {.num_heads = 64,
                  .num_kv_heads = 8,
                  .head_dim = 64,
                  .elementwise = {.bias = 64 * 64 + 2 * 8 * 64 + 2880 + 64}},
    .feed_forward = {.num_experts = 32,
                     .num_experts_per_tok = 4,
                     .intermediate_size = 2880,
                     .elementwise = {.bias = 32 + 32 * 3 * 2880}},
    .vocab = {.size = 201088},
    .masks = layer_masks::period({mask::sliding_window(128), mask::causal()}),
    .layer_elementwise = {.norm = 2 * 2880},
    .final_elementwise = {.norm = 2880}};

/// Five layers with a window of 512 tokens precede each full layer. A layer has four norms, plus query and key norms of
/// head_dim.
inline constexpr transformer<mqa, gated_mlp> gemma_3_1b{
    .hidden_size = 1152,
    .num_layers = 26,
    .attention = {.num_heads = 4, .head_dim = 256, .elementwise = {.norm = 2 * 256}},
    .feed_forward = {.intermediate_size = 6912},
    .vocab = {.size = 262144, .tied = true},
    .masks = layer_masks::period({mask::sliding_window(512), mask::sliding_window(512), mask::sliding_window(512),
                                  mask::sliding_window(512), mask::sliding_window(512), mask::causal()}),
    .layer_elementwise = {.norm = 4 * 1152},
    .final_elementwise = {.norm = 1152}};

/// GPT-2 has LayerNorms with biases, linear layers with biases, learned positions and a tied embedding.
inline constexpr transformer<mha, mlp> gpt2{
    .hidden_size = 768,
    .num_layers = 12,
    .attention = {.num_heads = 12, .head_dim = 64, .elementwise = {.bias = 4 * 768}},
    .feed_forward = {.intermediate_size = 3072, .elementwise = {.bias = 3072 + 768}},
    .vocab = {.size = 50257, .tied = true, .positions = 1024},
    .layer_elementwise = {.norm = 2 * 2 * 768},
    .final_elementwise = {.norm = 2 * 768}};

}  // namespace floptally::presets
