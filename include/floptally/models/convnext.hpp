// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char convnext[] = R"page(
page convnext : base.tower prefix ConvNext
with image_size 224 or list, patch_size 4 or list, num_channels 3, num_stages number absent
with hidden_sizes [96, 192, 384, 768] of numbers
with depths [3, 3, 9, 3] of numbers, layer_scale_init_value 0.000001 from 0
without num_attention_heads, intermediate_size
layers = sum(.depths)
h      = .hidden_sizes[size(.hidden_sizes) - 1]
heads  = 1                                       # it has none
l      = level(.depths, i)
w      = .hidden_sizes[l]
before = .hidden_sizes[l - 1]                    # of the level before, where there is one
side   = power(2, l)
merged = l == 0 ? null : cells(side, side)       # each level halves height and width
rows   = .image_size[0] / .patch_size[0]         # a pair is [height, width]
columns = .image_size[1] / .patch_size[1]
first  = .hidden_sizes[0]
norms  = 0
scales = .layer_scale_init_value > 0.0 ? 1 : 0   # a factor per channel on what a layer adds
stem:  patches channels .num_channels, side .patch_size, width first, norm 2*first, bias first
# Over 7 x 7 cells of each channel by itself, and before the first of a level over 2 x 2 of all channels.
mixer:
  linear in 4 * before, out w, as downsampling, from x, to down, no_lora, norm 2*before, bias w,
         over merged  if l != 0 and place(.depths, i) == 0
  linear in 49, out w, as convolution, from x, to out, no_lora, bias w, over merged
feed:  mlp inner 4*w, width w, norm (2 + scales) * w, bias 5*w, over merged
class ForImageClassification: head out labels, bias, per_sequence
class Model:
levels = .num_stages // .num_hidden_layers ?? size(.depths)
require size(.depths) > 0: .depths must have a number for each level
require size(.hidden_sizes) == levels: .hidden_sizes must have a number for each of the {levels} levels
require size(.depths) == size(.hidden_sizes): .depths must have a number for each of the {levels} levels
require not is_list(.image_size) or size(.image_size) == 2: .image_size must be an integer or [height, width]
require not is_list(.patch_size) or size(.patch_size) == 2: .patch_size must be an integer or [height, width]
)page";

}  // namespace floptally::models
