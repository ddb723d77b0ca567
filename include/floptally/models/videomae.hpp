// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char videomae[] = R"page(
page videomae : vit prefix VideoMAE
with num_frames 16, tubelet_size 2, qv_bias yes, use_mean_pooling yes
with decoder_hidden_size any?, decoder_num_hidden_layers any?       # of its pre-training, whose class is none of those below
with decoder_num_attention_heads any?, decoder_intermediate_size any?
without head_dim, qkv_bias, encoder_stride, pooler_output_size
divides = yes
class_tokens = 0
frames = .num_frames / .tubelet_size
sees   = clip_squares()                          # every patch sees those of all frames
bias   = .qv_bias * 2*h + h                      # keys have none
final_norm = 0
stem:  patches channels .num_channels, side .patch_size, frames .tubelet_size, bias h
class ForVideoClassification:
  linear in h, out labels, head, as lm_head classifier, from x, units clips(), bias labels, split replicated
  norm count 2*h
class Model: norm count 2*h  if not .use_mean_pooling
require frames > 0: .num_frames must be at least tubelet_size
)page";

}  // namespace floptally::models
