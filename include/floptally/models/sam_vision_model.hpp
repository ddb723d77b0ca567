// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char sam_vision_model[] = R"page(
page sam_vision_model : base.tower prefix Sam
with hidden_size 768, num_hidden_layers 12, num_attention_heads 12, mlp_dim number?, mlp_ratio 4.0 to 1024, output_channels 256
with image_size 1024, patch_size 16, num_channels 3, qkv_bias yes, use_abs_pos yes, use_rel_pos yes
with window_size 14 from 0, global_attn_indexes [2, 5, 8, 11] from 0 of numbers, num_pos_feats any?
without intermediate_size
f      = .mlp_dim ?? floor(.mlp_ratio * h)
rows   = .image_size / .patch_size
final_norm = 0
global = .window_size == 0 or .global_attn_indexes has i
side   = global ? 0 : .window_size
sees   = global ? both : grid(.window_size)
across = global ? rows : .window_size
bias   = .qkv_bias * 3*h + h
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count rows*rows * h  if .use_abs_pos
mixer:
  gqa heads heads, dim dim, bias bias, fused
  # Queries times a vector for each row and for each column of the window.
  scores per h, as attention.positions, sees lines(side)  if .use_rel_pos
  positions count 2 * (2*across - 1) * dim                  if .use_rel_pos
out    = .output_channels
class VisionModel:
  linear in h, as neck conv1, from x, no_lora, norm 2*out, out out
  linear in 9*out, as neck conv2, from x, no_lora, norm 2*out, out out
)page";

}  // namespace floptally::models
