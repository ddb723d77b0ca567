// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char recurrent_gemma[] = R"page(
page recurrent_gemma : llama prefix RecurrentGemma
with vocab_size 256000, hidden_size 2560, intermediate_size 7680, num_hidden_layers 26, num_attention_heads 10
with head_dim number absent, tie_word_embeddings yes, attention_window_size 2048 to 2147483647
with block_types list? of recurrent attention, lru_width number?, conv1d_width 4
with layer_types null, layers_block_type null, layers_num_experts null
without mlp_bias
divides = no
types   = .block_types ?? ["recurrent", "recurrent", "attention"]
full    = types[i % size(types)] == "attention"
sees    = window(.sliding_window // .attention_window_size)
bias    = (.attention_bias ? (heads + 2*kv) * dim : 0) + h
width   = .lru_width ?? h
f       = .intermediate_size / 2                       # stated for both halves together
mixer:
  gqa heads heads, kv kv, dim dim, bias bias  if full
  # The decay, and the biases of two gates, two branches, the convolution and the output.
  rg_lru width_of width, blocks heads, kernel .conv1d_width, bias 6*width + h  if not full
feed:  gated inner f, bias 2*f + h
require size(types) > 0: .block_types must name at least one layer
classes ForCausalLM Model
)page";

}  // namespace floptally::models
