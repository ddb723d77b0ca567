// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cohere[] = R"page(
page cohere : llama prefix Cohere
with vocab_size 256000, hidden_size 8192, intermediate_size 22528, num_hidden_layers 40, num_attention_heads 64
with head_dim number absent, use_qk_norm no?, tie_word_embeddings yes
without mlp_bias
divides = no
beside = yes
norms  = h                        # attention and MLP side by side share one
more:  norm count (heads + kv) * dim  if .use_qk_norm
classes ForCausalLM Model
)page";

}  // namespace floptally::models
