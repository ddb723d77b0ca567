// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char voxtral_realtime_encoder[] = R"page(
# Whisper's tower without a look ahead: convolutions over what came before, and a window of frames.
page voxtral_realtime_encoder : base.tower prefix VoxtralRealtime
with hidden_size 1280, num_hidden_layers 32, num_attention_heads 32, intermediate_size 5120, head_dim 64
with num_mel_bins 128, sliding_window 750
stands = "audio"
divides = no
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .encoder_layers
heads  = .num_attention_heads // .encoder_attention_heads
f      = .intermediate_size // .encoder_ffn_dim
dim    = .head_dim
bias   = 2 * heads * dim + h                      # keys have none
norms  = 2*h
final_norm = h
units  = frames(2, 2)
attends = frame_squares(2, 2)
sees   = frame_band(2, 2, .sliding_window - 1, 0)
stem:
  convolutions channels .num_mel_bins, kernels [3], out h, paddings 1, biased
  convolutions channels h, kernels [3], out h, strides [2], biased, inside, field 0, stride 1      # one frame of padding
feed:  gated inner f, bias h
class Encoder:
)page";

}  // namespace floptally::models
