// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ernie4_5[] = R"page(
page ernie4_5 : llama prefix Ernie4_5
with vocab_size 103424, hidden_size 1024, intermediate_size 3072, num_hidden_layers 18, num_attention_heads 16
with num_key_value_heads 2?, head_dim 128?, tie_word_embeddings yes, use_bias no?
without attention_bias, mlp_bias
divides = no
bias   = .use_bias ? (heads + 2*kv) * dim + h : 0
feed:  gated inner f, bias .use_bias ? 2*f + h : 0
classes ForCausalLM Model
)page";

}  // namespace floptally::models
