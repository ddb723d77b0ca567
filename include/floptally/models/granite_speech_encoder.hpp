// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granite_speech_encoder[] = R"page(
# A conformer over blocks of frames, whose middle layer says its guess of the letters to the next ones.
page granite_speech_encoder : base.tower prefix GraniteSpeech
with hidden_dim 1024, num_layers 10, num_heads 8, dim_head number?, feedforward_mult 4, input_dim 160, output_dim 42
with context_size 200, max_pos_emb 512, conv_kernel_size 15, conv_expansion_factor 2
without hidden_size, intermediate_size, num_hidden_layers, num_attention_heads
stands = "audio"
divides = no
h      = .hidden_dim
layers = .num_layers
heads  = .num_heads
dim    = .dim_head ?? h / heads
f      = h * .feedforward_mult
c      = h * .conv_expansion_factor               # channels of the convolution
left   = h                                        # width of what it leaves
norms  = 5 * 2*h + 2*c                            # the last is of the batch
final_norm = 0
sees   = frame_squares(1, 1, 0, .context_size)
per_unit = 0
stem:  linear in .input_dim, out h, as stem input_linear, from x, input, bias h, split repeated
# Queries against embedded distances, of which no projection is made.
mixer:
  gqa heads heads, dim dim, bias h
  scores per heads * dim, as attention.positions
  positions count (2 * .max_pos_emb + 1) * dim
more:
  mlp inner f, bias f + h
  linear in h, out 2*c, as convolution, no_lora, bias 2*c
  linear in .conv_kernel_size, out c, as convolution, no_lora
  linear in c, out h, as convolution, no_lora, bias h
  linear in h, out .output_dim, as ctc out, no_lora, bias .output_dim  if i + 1 == layers / 2
  linear in .output_dim, out h, as ctc out_mid, no_lora, bias h        if i + 1 == layers / 2
class CTCEncoder:
require layers >= 2: .num_layers must be at least 2, since the middle one feeds the others its guess
require .context_size <= .max_pos_emb: .context_size must be at most max_pos_emb ({.max_pos_emb})
)page";

}  // namespace floptally::models
