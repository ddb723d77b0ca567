// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char resnet[] = R"page(
page resnet : base.tower prefix ResNet
with num_channels 3, embedding_size 64, hidden_sizes [256, 512, 1024, 2048] of numbers, depths [3, 4, 6, 3] of numbers
with layer_type "bottleneck" of basic bottleneck, downsample_in_first_stage no, downsample_in_bottleneck no
with out_features any?, out_indices any?
without hidden_size, num_hidden_layers, num_attention_heads, intermediate_size
layers = sum(.depths)
h      = .hidden_sizes[size(.hidden_sizes) - 1]
heads  = 1                                      # it has none
norms  = 0
final_norm = 0
# A grid is the cells of the first convolution, 2 x 2 pixels each; a pool halves it, and each level but the first.
e      = .embedding_size
l      = level(.depths, i)
out    = .hidden_sizes[l]
first  = place(.depths, i) == 0
in     = not first ? out : l == 0 ? e : .hidden_sizes[l - 1]
stride = first and (l > 0 or .downsample_in_first_stage) ? 2 : 1
side   = power(2, l + 1 + .downsample_in_first_stage)
cells_in = cells(1, side / stride)
here   = cells(1, side)
r      = out / 4
deep   = .layer_type == "bottleneck"
stem:  linear in 49 * .num_channels, as patch_embedding, from x, to x, input, no_lora, norm 2*e, out e
mixer:
  linear in in, as convolution shortcut, from x, to short, no_lora, norm 2*out, out out, over here             if in != out or stride != 1
  linear in 9*in, as convolution conv1, from x, to a, no_lora, norm 2*out, out out, over here                  if not deep
  linear in 9*out, as convolution conv2, from a, to b, no_lora, norm 2*out, out out, over here                 if not deep
  linear in in, as convolution conv1, from x, to a, no_lora, norm 2*r, out r, over .downsample_in_bottleneck ? here : cells_in if deep
  linear in 9*r, as convolution conv2, from a, to b, no_lora, norm 2*r, out r, over here                       if deep
  linear in r, as convolution conv3, from b, to c, no_lora, norm 2*out, out out, over here                     if deep
feed:
class ForImageClassification: head out labels, bias, per_sequence
class Model:
require size(.depths) > 0: .depths must have a number for each level
require size(.depths) == size(.hidden_sizes): .depths must have a number for each of the {size(.hidden_sizes)} levels
require not deep or r > 0: .hidden_sizes must be at least 4
)page";

}  // namespace floptally::models
