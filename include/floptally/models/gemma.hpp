// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma[] = R"page(
page gemma : llama prefix Gemma
with vocab_size 256000, hidden_size 3072, intermediate_size 24576, num_hidden_layers 28, num_attention_heads 16
with num_key_value_heads 16, head_dim 256, tie_word_embeddings yes
without mlp_bias
divides = no
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
