// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char swin[] = R"page(
page swin : base.tower prefix Swin
with image_size 224 or list, patch_size 4 or list, num_channels 3, embed_dim 96, use_absolute_embeddings no
with num_layers any?                       # as many as depths has
with depths [2, 2, 6, 2] of numbers, num_heads [3, 6, 12, 24] of numbers, window_size 7, mlp_ratio 4.0 to 1024, qkv_bias yes
without num_attention_heads, intermediate_size
layers = sum(.depths)
h      = .embed_dim * power(2, size(.depths) - 1)
heads  = 1                                       # each level has its own
l      = level(.depths, i)
w      = .embed_dim * power(2, l)
nheads = .num_heads[l]
merged = l == 0 ? null : cells(1, power(2, l))   # each level merges two by two cells
f      = floor(.mlp_ratio * w)
rows   = .image_size[0] / .patch_size[0]         # a pair is [height, width]
columns = .image_size[1] / .patch_size[1]
e      = .embed_dim
win    = .window_size
norms  = 0
shifts = place(.depths, i) % 2 == 1              # every second layer shifts its windows
windows = level_windows(win, l, shifts, yes)
left   = cells(1, power(2, size(.depths) - 1))   # what a decoder attends
bias   = .qkv_bias * 3*w + w
ends   = place(.depths, i) + 1 == .depths[l] and i + 1 < layers
stem:
  patches channels .num_channels, side .patch_size, width e, norm 2*e, bias e
  positions count rows * columns * e  if .use_absolute_embeddings
mixer:
  gqa heads nheads, dim w / nheads, width w, sees windows, norm 4*w, bias bias, over merged
  positions count (2*win - 1) * (2*win - 1) * nheads, over merged
feed:  mlp inner f, width w, bias f + w, over merged
# After the last layer of a level four cells become one of twice the width.
more:  linear in 4*w, out 2*w, as merger reduction, from x, norm 2 * 4*w, over cells(1, power(2, l + 1))  if ends
class ForImageClassification: head out labels, bias, per_sequence
class Model:
require size(.depths) > 0: .depths must have a number for each level
require size(.num_heads) == size(.depths): .num_heads must have a number for each of the {size(.depths)} levels
require rows > 0 and columns > 0: .image_size must be at least patch_size
require w % nheads == 0: .num_heads must divide the width of its level ({w})
require not is_list(.image_size) or size(.image_size) == 2: .image_size must be an integer or [height, width]
require not is_list(.patch_size) or size(.patch_size) == 2: .patch_size must be an integer or [height, width]
)page";

}  // namespace floptally::models
