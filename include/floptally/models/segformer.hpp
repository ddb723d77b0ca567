// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char segformer[] = R"page(
page segformer : base.tower prefix Segformer
with num_channels 3, num_encoder_blocks 4, depths [2, 2, 2, 2] of numbers, hidden_sizes [32, 64, 160, 256] of numbers
with num_attention_heads [1, 2, 5, 8] of numbers, sr_ratios [8, 4, 2, 1] of numbers, mlp_ratios [4, 4, 4, 4] of numbers
with patch_sizes [7, 3, 3, 3] of numbers, strides [4, 2, 2, 2] of numbers, decoder_hidden_size 256, reshape_last_stage any?
without hidden_size, num_hidden_layers, intermediate_size
layers = sum(.depths)
h      = .hidden_sizes[3]
heads  = 1                                      # each level has its own
norms  = 0
final_norm = 0
# A grid is the cells of the first convolution; each level takes fewer cells of the one before.
l      = level(.depths, i)
w      = .hidden_sizes[l]
first  = place(.depths, i) == 0
before = .hidden_sizes[l - 1]
nheads = .num_attention_heads[l]
f      = .mlp_ratios[l] * w
k      = .patch_sizes[l]
stride1 = .strides[1]
stride2 = stride1 * .strides[2]
stride3 = stride2 * .strides[3]
side   = l == 0 ? 1 : l == 1 ? stride1 : l == 2 ? stride2 : stride3
here   = cells(1, side)
# Queries of each cell; keys and values of ratio x ratio cells that a convolution makes one.
ratio  = .sr_ratios[l]
span   = 1 + (ratio - 1) * side
keys   = cells(span, ratio * side)
qkv_bias = yes
e      = .hidden_sizes[0]
stem:  linear in .patch_sizes[0] * .patch_sizes[0] * .num_channels, as patch_embedding, from x, to x, input, no_lora, norm 4*e, bias e, out e
before: linear in k*k*before, as patch_embedding downsampling, from x, to x, no_lora, norm 4*w, bias w, out w, over here  if first and l > 0
mixer:
  linear in w, as attention q_proj, from x, to q, norm 4*w, bias qkv_bias * w, out w, over here
  linear in ratio*ratio*w, as attention sequence_reduction, from x, to x, no_lora, norm 2*w, bias w, out w, over keys  if ratio > 1
  linear in w, as attention kv_proj, from x, to kv, bias qkv_bias * 2*w, out 2*w, over keys
  core heads nheads, as attention.core, from q kv kv, to seen, dim w / nheads, sees reduced(1, side, span, ratio * side)
  linear in w, as attention o_proj, from seen, to y, bias w, out w, over here
feed:
  mlp inner f, width w, bias f + w, over here
  linear in 9, as mlp convolution, from x, to x, no_lora, bias f, out f, over here           # of each channel by itself
class ForImageClassification: head out labels, bias, per_sequence
class Model:
# Every level is made as wide as the decoder and as fine as the first, and one matrix takes all four.
d      = .decoder_hidden_size
class ForSemanticSegmentation:
  linear in .hidden_sizes[0], out d, as decode_head linear_c1, from x, bias d
  linear in .hidden_sizes[1], out d, as decode_head linear_c2, from x, bias d, units cells(1, stride1)
  linear in .hidden_sizes[2], out d, as decode_head linear_c3, from x, bias d, units cells(1, stride2)
  linear in .hidden_sizes[3], out d, as decode_head linear_c4, from x, bias d, units cells(1, stride3)
  linear in 4*d, out d, as decode_head linear_fuse, from x, norm 2*d
  linear in d, out labels, head, as lm_head classifier, from x, bias labels, split replicated
require .num_encoder_blocks == 4: .num_encoder_blocks is not supported; must be 4
require size(.depths) == 4: .depths must have four numbers
require size(.hidden_sizes) == 4 and size(.patch_sizes) == 4 and size(.strides) == 4: .hidden_sizes must have four numbers, as patch_sizes and strides
require size(.num_attention_heads) == 4 and size(.sr_ratios) == 4 and size(.mlp_ratios) == 4: .num_attention_heads must have four numbers, as sr_ratios and mlp_ratios
require w % nheads == 0: .num_attention_heads must divide the width of its level ({w})
fits   = l == 0 or k % 2 == 1
require fits: .patch_sizes must be odd from the second level on: an even one makes a cell more
)page";

}  // namespace floptally::models
