// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char musicgen[] = R"page(
# T5 reads what music is wanted, a decoder writes the codes of a frame at once; codes are made by a codec before the step.
page musicgen : base.decoder prefix Musicgen
encoder t5.encoder in .text_encoder
with decoder.vocab_size 2048, decoder.num_hidden_layers 24, decoder.ffn_dim 4096, decoder.num_attention_heads 16
with decoder.hidden_size 1024, decoder.num_codebooks 4, decoder.layerdrop 0.0 from 0, decoder.cross_attention_hidden_size number?
without vocab_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size
v      = .decoder.vocab_size
h      = .decoder.hidden_size
layers = .decoder.num_hidden_layers
heads  = .decoder.num_attention_heads
f      = .decoder.ffn_dim
codes  = .decoder.num_codebooks
projects = encoder.h != h
norms  = 6*h
final_norm = 2*h
positions = 0                                     # computed
cross: cross heads heads, dim dim
feed:  mlp inner f
once:
  table count codes * (v + 1) * h - v * h         # a table and a head for each codebook
  table count encoder.v * encoder.h
  linear in encoder.h, as cross_attention enc_to_dec_proj, from context, out h, of_keys  if projects
  bias count h  if projects
class ForConditionalGeneration: head out codes * v
note .decoder.layerdrop > 0.0: layerdrop skips layers at random in training: counted as if none were skipped
require .decoder.cross_attention_hidden_size ?? h == h: .decoder.cross_attention_hidden_size must be null or hidden_size ({h}), which its layers read
require not given(.decoder.cross_attention_hidden_size) or not projects: .decoder.cross_attention_hidden_size must be null where the text encoder is of another width ({encoder.h})
note yes: the codec that makes codes of the sound runs before the step and is not counted
)page";

}  // namespace floptally::models
