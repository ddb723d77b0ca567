// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char fun_asr_nano_encoder[] = R"page(
# Frames stacked to rows, layers with a memory of their neighbours' values (SAN-M); the first makes the rows as wide as it is.
page fun_asr_nano_encoder : base.tower prefix FunAsrNano
with hidden_size 512, num_attention_heads 4, intermediate_size 2048, num_hidden_layers 70, num_mel_bins 80
with num_stacked_frames 7, num_timestamp_prediction_layers 20, fsmn_kernel_size 11
stands = "audio"
divides = no
wide   = i == 0 ? .num_mel_bins * .num_stacked_frames : h
normed = i == layers - .num_timestamp_prediction_layers - 1 or i == layers - 1      # after the layers of either task
norms  = 2*wide + 2*h + normed * 2*h
final_norm = 0
tokens_for = frames(1, 1)
stem:  norm count 0
mixer:
  linear in wide, out h, as attention.qkv q_proj, from x, to q, bias h, split heads heads
  linear in wide, out h, as attention.qkv k_proj, from x, to k, bias h, split kv_heads heads
  linear in wide, out h, as attention.qkv v_proj, from x, to v, bias h, split kv_heads heads
  core heads heads, dim dim, from q k v, to out
  linear in h, out h, as attention.output o_proj, from out, bias h, split heads heads
  linear in .fsmn_kernel_size, out h, as convolution, from v, no_lora
class Encoder:
require .num_timestamp_prediction_layers <= layers: .num_timestamp_prediction_layers must be at most num_hidden_layers ({layers})
)page";

}  // namespace floptally::models
