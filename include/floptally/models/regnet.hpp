// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char regnet[] = R"page(
page regnet : resnet prefix RegNet
with embedding_size 32, hidden_sizes [128, 192, 512, 1088] of numbers, depths [2, 6, 12, 2] of numbers, groups_width 64
with layer_type "y" of x y, downsample_in_first_stage yes
without downsample_in_bottleneck, out_features, out_indices
# No pool: the first level begins at the cells of the first convolution.
side   = power(2, l + .downsample_in_first_stage)
groups = max(1, out / .groups_width)
each   = out / groups                            # channels that a channel reads
squeezed = round(in / 4.0)
stem:  linear in 9 * .num_channels, as patch_embedding, from x, to x, input, no_lora, norm 2*e, out e
mixer:
  linear in in, as convolution shortcut, from x, to short, no_lora, norm 2*out, out out, over here             if in != out or stride != 1
  linear in in, as convolution conv1, from x, to a, no_lora, norm 2*out, out out, over cells_in
  linear in 9*each, as convolution conv2, from a, to b, no_lora, norm 2*out, out out, over here
  # What scales each channel is made once an image, from the means of all.
  linear in out, as convolution squeeze, from b, to s, no_lora, per_sequence, bias squeezed, out squeezed      if .layer_type == "y"
  linear in squeezed, as convolution excite, from s, to b, no_lora, per_sequence, bias out, out out            if .layer_type == "y"
  linear in out, as convolution conv3, from b, to c, no_lora, norm 2*out, out out, over here
require out % groups == 0: .groups_width must part the channels of a level ({out}) evenly
)page";

}  // namespace floptally::models
