// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma2[] = R"page(
page gemma2 : mistral prefix Gemma2
with vocab_size 256000, hidden_size 2304, intermediate_size 9216, num_hidden_layers 26, num_attention_heads 8
with num_key_value_heads 4, head_dim 256, tie_word_embeddings yes, attention_bias no
norms  = 4*h
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i % 2 == 0
divides = yes
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
