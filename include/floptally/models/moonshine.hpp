// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char moonshine[] = R"page(
page moonshine : moonshine.encoder prefix Moonshine
encoder moonshine.encoder
with decoder_num_hidden_layers 6, decoder_num_attention_heads 8, decoder_num_key_value_heads number?
layers = .num_hidden_layers // .decoder_num_hidden_layers
heads  = .num_attention_heads // .decoder_num_attention_heads
kv     = .num_key_value_heads // .decoder_num_key_value_heads ?? heads
norms  = 3*h
mtp_norms = norms + 3*h
sees   = causal
stem:
cross: cross heads heads, kv kv, dim dim, bias bias
feed:  gated inner f, bias 2*f + h, fused
class ForConditionalGeneration: head out v, words
class Model:

page moonshine.encoder : base.tower prefix Moonshine
with vocab_size 32768, hidden_size 288, intermediate_size 1152, tie_word_embeddings yes, attention_bias no
with head_dim number?, pad_head_dim_to_multiple_of any?, encoder_num_hidden_layers 6, encoder_num_attention_heads 8, encoder_num_key_value_heads number?
stands = "audio"
v      = .vocab_size
tied   = .tie_word_embeddings
layers = .num_hidden_layers // .encoder_num_hidden_layers
heads  = .num_attention_heads // .encoder_num_attention_heads
kv     = .num_key_value_heads // .encoder_num_key_value_heads ?? heads
dim    = .head_dim ?? h / heads
bias   = .attention_bias ? (heads + 2*kv) * dim : 0
norms  = 2*h
final_norm = h
sees   = both
units  = frames(field([127, 7, 3], [64, 3, 2]), 384)
attends = frame_squares(field([127, 7, 3], [64, 3, 2]), 384)
stem:
  convolutions channels 1, kernels [127], out h, strides [64]
  convolutions channels h, kernels [7, 3], out [2*h, h], strides [3, 2], biased, inside, field 127, stride 64
  norm count 2*h
require kv == heads: .num_key_value_heads must be the number of attention heads ({heads}), which is all that the class runs
)page";

}  // namespace floptally::models
