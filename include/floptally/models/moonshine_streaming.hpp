// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char moonshine_streaming[] = R"page(
# An encoder of pieces of the waveform, each of whose layers sees a window of its own, and Moonshine's decoder.
page moonshine_streaming : base.decoder prefix MoonshineStreaming
encoder moonshine_streaming.encoder in .encoder_config
with vocab_size 32768, hidden_size 320, intermediate_size 1280, num_hidden_layers 6, num_attention_heads 8
with num_key_value_heads number, head_dim number?, max_position_embeddings 4096, attention_bias no, pad_head_dim_to_multiple_of any?
kv     = .num_key_value_heads
dim    = .head_dim ?? h / heads
bias   = .attention_bias ? (heads + 2*kv) * dim : 0
norms  = 3*h
cross: cross heads heads, kv kv, dim dim, bias bias
feed:  gated inner f, bias 2*f + h, fused
# What the encoder leaves has positions added and is made as wide as the decoder.
once:
  positions count .max_position_embeddings * encoder.h
  linear in encoder.h, as cross_attention proj, from context, out h, of_keys  if encoder.h != h
require kv == heads: .num_key_value_heads must be num_attention_heads ({heads}), which is all that the class runs
class ForConditionalGeneration: head out v, words
class Model:

page moonshine_streaming.encoder : base.tower prefix MoonshineStreaming
with hidden_size 320, intermediate_size 1280, num_hidden_layers 6, num_attention_heads 8, num_key_value_heads 8
with head_dim number?, attention_bias no, sample_rate 16000, frame_ms 5.0
with sliding_windows [[16, 4], [16, 4], [16, 0], [16, 0], [16, 4], [16, 4]]
stands = "audio"
divides = no
kv     = .num_key_value_heads
dim    = .head_dim ?? h / heads
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
norms  = 2*h
final_norm = h
piece  = round(.sample_rate * .frame_ms / 1000.0)
pieces = frames(piece, piece)
units  = frames(piece, 4 * piece)
attends = frame_squares(piece, 4 * piece)
own    = .sliding_windows[i]
sees   = frame_band(piece, 4 * piece, own[0] - 1, max(own[1] - 1, 0))
per_unit = 0
stem:
  linear in piece, out h, as stem linear, from x, norm 1, over pieces, attends pieces, split repeated
  convolutions channels h, kernels [5, 5], out [2*h, h], strides 2, paddings 2, biased, inside, field piece, stride piece
class Encoder:
require size(.sliding_windows) >= layers: .sliding_windows must have a window for each of the {layers} layers
)page";

}  // namespace floptally::models
