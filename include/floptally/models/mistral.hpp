// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mistral[] = R"page(
page mistral : llama prefix Mistral
with intermediate_size 14336, num_key_value_heads 8, sliding_window 4096?
with layer_types list? each of full_attention attention sliding_attention
without attention_bias, mlp_bias
divides = no
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : given(.sliding_window)
sees   = slides ? window(.sliding_window) : causal
bias   = 0
feed:  gated inner f
)page";

}  // namespace floptally::models
