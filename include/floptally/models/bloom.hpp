// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char bloom[] = R"page(
page bloom : gpt_neox prefix Bloom
with vocab_size 250880, hidden_size 64, n_embed number absent, n_layer 2, n_head 8, tie_word_embeddings yes
without intermediate_size, attention_bias, use_parallel_residual
h      = .hidden_size // .n_embed
layers = .num_hidden_layers // .n_layer
heads  = .num_attention_heads // .n_head
f      = 4*h
first_norm = 2*h                  # of the embedding
bias   = 4*h
beside = no
require (.n_embed ?? h) == h: .n_embed must be hidden_size ({h})
)page";

}  // namespace floptally::models
