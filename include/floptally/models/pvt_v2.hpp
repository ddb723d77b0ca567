// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pvt_v2[] = R"page(
page pvt_v2 : segformer prefix PvtV2
with image_size 224 or list of numbers, qkv_bias yes, linear_attention no, mlp_ratios [8, 8, 4, 4] of numbers
with out_features any?, out_indices any?
without decoder_hidden_size, reshape_last_stage
qkv_bias = .qkv_bias
rows   = .image_size[0] / .strides[0]
columns = .image_size[1] / .strides[0]
pooled = 49                                     # 7 x 7 keys of any image, means of what they cover
mixer:
  linear in w, as attention q_proj, from x, to q, norm 4*w, bias qkv_bias * w, out w, over here
  linear in ratio*ratio*w, as attention sequence_reduction, from x, to x, no_lora, norm 2*w, bias w, out w, over keys  if ratio > 1 and not .linear_attention
  linear in w, as attention kv_proj, from x, to kv, bias qkv_bias * 2*w, out 2*w, over keys  if not .linear_attention
  core heads nheads, as attention.core, from q kv kv, to seen, dim w / nheads, sees reduced(1, side, span, ratio * side)  if not .linear_attention
  linear in w, as attention sequence_reduction, from x, to x, no_lora, per_sequence, applied pooled, stored 1, norm 2*w, bias w, out w  if .linear_attention
  linear in w, as attention kv_proj, from x, to kv, per_sequence, applied pooled, stored 1, bias qkv_bias * 2*w, out 2*w  if .linear_attention
  core heads nheads, as attention.core, from q kv kv, to seen, dim w / nheads, pairs pooled, over here  if .linear_attention
  linear in w, as attention o_proj, from seen, to y, bias w, out w, over here
classes ForImageClassification Model
)page";

}  // namespace floptally::models
