// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char florence_vision[] = R"page(
# DaViT (arXiv:2204.03645): each block is a layer whose patches see their window, then one whose channels see each other. A
# patch is what a step of the first convolution leaves: an image is a grid of ceil(side / patch_stride) by the same.
page florence_vision : base.tower prefix Florence2Vision
with in_channels 3, embed_dim [128, 256, 512, 1024] of numbers, depths [1, 1, 9, 1] of numbers, drop_path_rate any?
with num_heads [4, 8, 16, 32] of numbers, num_groups [4, 8, 16, 32] of numbers, window_size 12, mlp_ratio 4.0 to 1024, qkv_bias yes
with patch_size [7, 3, 3, 3] of numbers, patch_stride [4, 2, 2, 2] of numbers, patch_padding [3, 1, 1, 1]
with patch_prenorm list?
with projection_dim 1024, max_position_embeddings 50, max_temporal_embeddings any?        # of florence2's projector
without num_hidden_layers, num_attention_heads, hidden_size, intermediate_size
layers = 2 * sum(.depths)
levels = size(.depths)
h      = .embed_dim[max(levels - 1, 0)]
heads  = 1                                       # each level has its own
l      = level(.depths, i / 2)
w      = .embed_dim[l]
before_w = .embed_dim[l - 1]                     # of the level before, where there is one
spatial = i % 2 == 0
opens  = l != 0 and spatial and place(.depths, i / 2) == 0
kernel = .patch_size[l]
merged = l == 0 ? null : cells(1, power(2, l))   # each level halves height and width
f      = floor(.mlp_ratio * w)
bias   = .qkv_bias * 3*w + w
groups = .num_groups[l]
first  = .embed_dim[0]
prenorm = given(.patch_prenorm) ? .patch_prenorm[l] : l > 0
norms  = 0
final_norm = 0
left   = cells(1, power(2, levels - 1))
pieces = .projection_dim
table_rows = .max_position_embeddings
starts = given(.patch_prenorm) ? .patch_prenorm[0] : no      # with a norm of the pixels, behind which they have a gradient
inside = .patch_size[0] * .patch_size[0] * .in_channels
stem:
  patches channels .in_channels, side .patch_size[0], width first, norm 2*first, bias first                   if not starts
  linear in inside, out first, as patch_embedding, no_lora, norm 2 * .in_channels, bias first, split repeated  if starts
# Over cells of each channel by itself before the attention and before the feed-forward; before the first of a level over
# those of all channels.
before:
  linear in kernel*kernel * before_w, out w, as downsampling, from x, to down, no_lora, norm 2 * (prenorm ? before_w : w),
         bias w, over merged  if opens
  linear in 9, out w, as convolution, from x, to out, no_lora, bias w, over merged
mixer:
  gqa heads .num_heads[l], dim w / .num_heads[l], width w, sees level_windows(.window_size, l, no, no), norm 4*w, bias bias, fused,
          over merged  if spatial
  linear in w, out 3*w, as attention.qkv qkv_proj, from x, to a, norm 4*w, bias bias, over merged  if not spatial
  core heads groups, dim w / groups, pairs w / groups, as attention.core, from a a a, to b, over merged  if not spatial
  linear in w, out w, as attention.output o_proj, from b, over merged  if not spatial
into_feed: linear in 9, out w, as convolution, from x, to out, no_lora, bias w, over merged
feed:  mlp inner f, width w, bias f + w, over merged
class Backbone:
require levels > 0: .depths must have a number for each level
require size(.embed_dim) == levels: .embed_dim must have a number for each of the {levels} levels
require size(.num_heads) == levels: .num_heads must have a number for each of the {levels} levels
require size(.num_groups) == levels: .num_groups must have a number for each of the {levels} levels
require size(.patch_size) == levels: .patch_size must have a number for each of the {levels} levels
require size(.patch_stride) == levels: .patch_stride must have a number for each of the {levels} levels
require size(.patch_padding) == levels: .patch_padding must have a number for each of the {levels} levels
require w % .num_heads[l] == 0: .num_heads must divide the width of its level ({w})
require w % groups == 0: .num_groups must divide the width of its level ({w})
require l == 0 or .patch_stride[l] == 2: .patch_stride must be 2 behind the first level
require l == 0 or kernel == 2 * .patch_padding[l] + 1: .patch_padding must be half of patch_size behind the first level
)page";

}  // namespace floptally::models
