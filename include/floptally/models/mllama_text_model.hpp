// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mllama_text_model[] = R"page(
page mllama_text_model : llama prefix Mllama
with vocab_size 128256, intermediate_size 14336, num_hidden_layers 40, num_key_value_heads 8, cross_attention_layers list?
without head_dim, attention_bias, mlp_bias
divides = no
dim    = h / heads
bias   = 0
crossed = given(.cross_attention_layers) ? .cross_attention_layers has i : i % 5 == 3 and i < 40
mixer:
  gqa heads heads, kv kv, dim dim                        if not crossed
  cross heads heads, kv kv, dim dim, norm 2*dim + 2      if crossed      # norms of queries and keys, and two gates
feed:  gated inner f
once:  table count 8*h                                   # tokens that only the embedding knows
class ForCausalLM: head out v, words
class TextModel:
require not .tie_word_embeddings: .tie_word_embeddings is not supported; must be false or absent
)page";

}  // namespace floptally::models
