// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cwm[] = R"page(
page cwm : llama prefix Cwm
with vocab_size 128256, hidden_size 6144, intermediate_size 21504, num_hidden_layers 64, num_attention_heads 48
with num_key_value_heads 8, head_dim 128
with sliding_window 8192?, layer_types list? each of full_attention attention sliding_attention
without attention_bias
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i % 4 != 0
sees   = slides ? window(.sliding_window) : causal
classes ForCausalLM Model
)page";

}  // namespace floptally::models
