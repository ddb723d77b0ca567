// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pvt[] = R"page(
page pvt : segformer prefix Pvt
with image_size 224, patch_sizes [4, 2, 2, 2] of numbers, hidden_sizes [64, 128, 320, 512] of numbers, mlp_ratios [8, 8, 4, 4] of numbers
with qkv_bias yes, sequence_reduction_ratios [8, 4, 2, 1] of numbers
without decoder_hidden_size, reshape_last_stage, sr_ratios
# Patches beside each other, with positions at each level; at the last one a class token joins them.
final_norm = 2*h
rows   = .image_size / .patch_sizes[0]
along  = .image_size / power(2, l + 1) / k
stride1 = .patch_sizes[1]
stride2 = stride1 * .patch_sizes[2]
stride3 = stride2 * .patch_sizes[3]
qkv_bias = .qkv_bias
ratio  = .sequence_reduction_ratios[l]
here   = cells(side, side)
span   = ratio * side
keys   = cells(span, span)
last   = l == 3
fits   = yes
stem:
  linear in .strides[0] * .strides[0] * .num_channels, as patch_embedding, from x, to x, input, no_lora, norm 2*e, bias e, out e
  positions count rows*rows * e
before:
  linear in .strides[l] * .strides[l] * before, as patch_embedding downsampling, from x, to x, no_lora, norm 2*w, bias w, out w, over here  if first and l > 0
  positions count (along*along + (last ? 2 : 0)) * w  if first and l > 0
mixer:
  linear in w, as attention q_proj, from x, to q, norm 4*w, bias qkv_bias * w, out w, over here  if not last
  linear in ratio*ratio*w, as attention sequence_reduction, from x, to x, no_lora, norm 2*w, bias w, out w, over keys  if ratio > 1
  linear in w, as attention kv_proj, from x, to kv, bias qkv_bias * 2*w, out 2*w, over keys  if not last
  core heads nheads, as attention.core, from q kv kv, to seen, dim w / nheads, sees reduced(side, side, span, span)  if not last
  linear in w, as attention o_proj, from seen, to y, bias w, out w, over here  if not last
  gqa heads nheads, dim w / nheads, width w, sees both, norm 4*w, bias qkv_bias * 3*w + w, prefix 1, over here, attends reduced(side, side, side, side)  if last
feed:
  mlp inner f, width w, bias f + w, over here  if not last
  mlp inner f, width w, bias f + w, prefix 1, over here  if last
classes ForImageClassification Model
require .sequence_reduction_ratios[3] == 1: .sequence_reduction_ratios must end in 1, which is all that the class runs
require .strides[l] == k: .strides must be patch_sizes
)page";

}  // namespace floptally::models
