// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granite_swa[] = R"page(
page granite_swa : granite prefix GraniteSWA
with vocab_size 100352, hidden_size 2560, intermediate_size 8192, num_hidden_layers 24, num_attention_heads 20
with num_key_value_heads 4?, head_dim number absent, tie_word_embeddings yes
with sliding_window 128?, layer_types list? each of full_attention attention sliding_attention
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i % 4 != 0
sees   = slides ? window(.sliding_window) : causal
sinks  = heads                    # what each head may attend to besides tokens
bias   = (.attention_bias ? (heads + 2*kv) * dim + h : 0) + sinks
)page";

}  // namespace floptally::models
