// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char dia[] = R"page(
# Bytes of text in, the codes of a frame at once out, a table and a head for each channel of them.
page dia : base.decoder prefix Dia
encoder dia.encoder in .encoder_config
with delay_pattern any?, decoder_config.hidden_size 2048, decoder_config.intermediate_size 8192, decoder_config.num_hidden_layers 18
with decoder_config.num_attention_heads 16, decoder_config.num_key_value_heads 4, decoder_config.head_dim 128
with decoder_config.cross_num_attention_heads 16, decoder_config.cross_num_key_value_heads 16, decoder_config.cross_head_dim 128
with decoder_config.cross_hidden_size 1024, decoder_config.vocab_size 1028, decoder_config.num_channels 9
without vocab_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size
v      = .decoder_config.vocab_size
h      = .decoder_config.hidden_size
layers = .decoder_config.num_hidden_layers
heads  = .decoder_config.num_attention_heads
kv     = .decoder_config.num_key_value_heads
dim    = .decoder_config.head_dim
f      = .decoder_config.intermediate_size
codes  = .decoder_config.num_channels
norms  = 3*h
cross: cross heads .decoder_config.cross_num_attention_heads, kv .decoder_config.cross_num_key_value_heads,
         dim .decoder_config.cross_head_dim, context encoder.h
feed:  gated inner f, fused
once:
  table count (codes - 1) * v * h
  table count encoder.v * encoder.h
class ForConditionalGeneration: head out codes * v
class Model:
require .decoder_config.cross_hidden_size == encoder.h: .decoder_config.cross_hidden_size must be the encoder's hidden_size ({encoder.h})

page dia.encoder : base.decoder prefix Dia
with vocab_size 256, hidden_size 1024, intermediate_size 4096, num_hidden_layers 12, num_attention_heads 16
with num_key_value_heads 16, head_dim 128
kv     = .num_key_value_heads
dim    = .head_dim
sees   = both
feed:  gated inner f, fused
)page";

}  // namespace floptally::models
