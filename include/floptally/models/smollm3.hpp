// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char smollm3[] = R"page(
# Where windows are on, the layers without rotary positions have one.
page smollm3 : qwen3 prefix SmolLM3
with vocab_size 128256, hidden_size 2048, intermediate_size 11008, num_hidden_layers 36, num_attention_heads 16
with num_key_value_heads 4?, head_dim number absent, mlp_bias no, tie_word_embeddings yes, sliding_window number?
with no_rope_layers list?, no_rope_layer_interval 4
without max_window_layers
qk_norm = 0
listed = given(.no_rope_layers)
rope   = listed ? .no_rope_layers[i] == 1 : (i + 1) % .no_rope_layer_interval != 0
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : not rope
require not .use_sliding_window or not listed or rope or .no_rope_layers[i] == 0: .no_rope_layers must be 0 or 1
)page";

}  // namespace floptally::models
