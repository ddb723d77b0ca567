// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mpt[] = R"page(
# Its layer norms have no bias. The class has as many key and value heads as queries, whatever attn_type says.
page mpt : base.decoder prefix Mpt
with vocab_size 50368, d_model 2048, n_layers 24, n_heads 16, tie_word_embeddings yes
with attn_config object?, attn_config.attn_type "multihead_attention" of multihead_attention multiquery_attention
without intermediate_size, token_classification_bias
divides = yes
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .n_layers
heads  = .num_attention_heads // .n_heads
f      = 4*h
fused_qkv = yes
feed:  mlp inner f
)page";

}  // namespace floptally::models
