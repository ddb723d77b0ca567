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
named_window = given(.layer_types) and .layer_types[i] == "sliding_attention"
sees   = .use_sliding_window and given(.sliding_window) and slides ? window(.sliding_window) : causal
require .use_sliding_window or not named_window: .layer_types must be "full_attention" while use_sliding_window is false
require not .use_sliding_window or not named_window or given(.sliding_window): .sliding_window must be an integer from 1 to 2147483647
)page";

}  // namespace floptally::models
