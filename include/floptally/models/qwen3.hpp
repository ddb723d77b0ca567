// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3[] = R"page(
page qwen3 : llama prefix Qwen3
with vocab_size 151936, intermediate_size 22016, num_key_value_heads 32?, head_dim 128
with use_sliding_window no, sliding_window 4096?, max_window_layers 28 from 0
with layer_types list? each of full_attention attention sliding_attention
without mlp_bias
divides = no
qk_norm = 2*dim
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i >= .max_window_layers
sees   = .use_sliding_window and given(.sliding_window) and slides ? window(.sliding_window) : causal
require .use_sliding_window or not (.layer_types has "sliding_attention"): .layer_types must be "full_attention" while use_sliding_window is false
)page";

}  // namespace floptally::models
