// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char got_ocr2_vision[] = R"page(
# SAM's encoder (arXiv:2304.02643): most layers see windows, and scores have a bias for each row and each column of keys.
page got_ocr2_vision : base.tower prefix GotOcr2
with hidden_size 768, num_hidden_layers 12, num_attention_heads 12, output_channels 256, num_channels 3, image_size 1024, patch_size 16
with qkv_bias yes, use_abs_pos yes, use_rel_pos yes, window_size 14, global_attn_indexes [2, 5, 8, 11], mlp_dim 3072
without intermediate_size
f      = .mlp_dim
bias   = .qkv_bias * 3*h + h
rows   = .image_size / .patch_size
whole  = .global_attn_indexes has i
side   = whole ? rows : .window_size              # keys of a row or a column
final_norm = 0
out    = .output_channels
sees   = whole ? both : grid(.window_size)
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count rows*rows * h  if .use_abs_pos
mixer:
  gqa heads heads, dim dim, bias bias, fused
  linear in dim, out 2*side * heads, as attention.positions, no_lora, shared_weights  if .use_rel_pos
  positions count 2 * (2*side - 1) * dim                                               if .use_rel_pos
after:
  linear in h, out out,     as neck conv1, from x, to a, norm 2*out, split replicated
  linear in 9*out, out out, as neck conv2, from a, to b, no_lora, norm 2*out, split replicated
class VisionEncoder:
)page";

}  // namespace floptally::models
