// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pix2struct_text_model[] = R"page(
page pix2struct_text_model : base.decoder prefix Pix2Struct
with vocab_size 50244, hidden_size 768, d_kv 64, d_ff 2048, num_layers 12, num_heads 12, relative_attention_num_buckets 32
with relative_attention_max_distance any?, is_decoder any?
without intermediate_size, num_attention_heads, num_hidden_layers
layers = .num_hidden_layers // .num_layers
heads  = .num_attention_heads // .num_heads
dim    = .d_kv
f      = .d_ff
norms  = 3*h
mixer:
  gqa heads heads, dim dim
  positions count .relative_attention_num_buckets * heads  if i == 0
cross: cross heads heads, dim dim
feed:  gated inner f
class TextModel: head out v, words
note yes: keys of a text: the patches of its image
)page";

}  // namespace floptally::models
