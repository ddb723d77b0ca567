// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char poolformer[] = R"page(
page poolformer : base.tower prefix PoolFormer
with num_channels 3, hidden_sizes [64, 128, 320, 512] of numbers, depths [2, 2, 6, 2] of numbers, num_encoder_blocks 4
with patch_size any?, stride any?, pool_size any?, mlp_ratio 4.0 to 1024, use_layer_scale yes
with patch_sizes [7, 3, 3, 3] of numbers, strides [4, 2, 2, 2] of numbers, padding [2, 1, 1, 1] from 0 of numbers
without hidden_size, num_hidden_layers, num_attention_heads, intermediate_size
layers = sum(.depths)
h      = .hidden_sizes[size(.hidden_sizes) - 1]
heads  = 1                                      # it has none
norms  = 0
final_norm = 0
# A grid is the cells of the first convolution; what mixes them is a pool, which multiplies nothing.
l      = level(.depths, i)
w      = .hidden_sizes[l]
first  = place(.depths, i) == 0
before = .hidden_sizes[l - 1]
f      = floor(.mlp_ratio * w)
side   = (l > 0 ? .strides[1] : 1) * (l > 1 ? .strides[2] : 1) * (l > 2 ? .strides[3] : 1)
here   = cells(1, side)
scales = .use_layer_scale ? 2*w : 0
k      = .patch_sizes[l]
stem:  linear in .patch_sizes[0] * .patch_sizes[0] * .num_channels, as patch_embedding, from x, to x, input, no_lora, bias .hidden_sizes[0], out .hidden_sizes[0]
mixer: linear in k*k*before, as downsampling, from x, to x, no_lora, bias w, out w, over here  if first and l > 0
feed:  mlp inner f, width w, norm 4*w + scales, bias f + w, over here
class ForImageClassification:
  head out labels, bias, per_sequence
  norm count 2*h
class Model:
require .num_encoder_blocks == 4: .num_encoder_blocks is not supported; must be 4
require size(.depths) == 4: .depths must have four numbers
require size(.hidden_sizes) == 4 and size(.patch_sizes) == 4 and size(.strides) == 4 and size(.padding) == 4: .hidden_sizes must have four numbers, as patch_sizes, strides and padding
require l == 0 or k == 2 * .padding[l] + 1: .padding must keep the cells: half of patch_sizes, from the second level on
)page";

}  // namespace floptally::models
