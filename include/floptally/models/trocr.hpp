// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char trocr[] = R"page(
# The decoder that reads what a vision tower leaves. Without it there are the weights of its cross attention, and no products.
page trocr : base.decoder prefix TrOCR
with vocab_size 50265, d_model 1024, decoder_layers 12, decoder_attention_heads 16, decoder_ffn_dim 4096
with max_position_embeddings 512, use_learned_position_embeddings yes, layernorm_embedding yes, tie_word_embeddings yes
with cross_attention_hidden_size number?, decoder_layerdrop 0.0 from 0
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .decoder_layers
heads  = .num_attention_heads // .decoder_attention_heads
f      = .decoder_ffn_dim
norms  = 6*h
first_norm = .layernorm_embedding * 2*h
final_norm = 0
bias   = 4*h
positions = .use_learned_position_embeddings ? .max_position_embeddings + 2 : 0
feed:  mlp inner f, bias f + h
more:
  linear in h, as cross_attention, out h, applied 0, stored 2, bias bias
  linear in .cross_attention_hidden_size ?? h, as cross_attention, out h, applied 0, stored 2
class ForCausalLM: head out v, words
note .decoder_layerdrop > 0.0: decoder_layerdrop skips layers at random in training: counted as if none were skipped
require h % heads == 0: .decoder_attention_heads must divide hidden_size ({h})
)page";

}  // namespace floptally::models
