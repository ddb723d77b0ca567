// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char focalnet[] = R"page(
page focalnet : base.tower prefix FocalNet
with image_size 224 or list of numbers, patch_size 4 or list of numbers, num_channels 3, embed_dim 96, use_conv_embed no
with depths [2, 2, 6, 2] of numbers, focal_levels [2, 2, 2, 2] to 4 of numbers, focal_windows [3, 3, 3, 3] of numbers
with mlp_ratio 4.0 to 1024, use_layerscale no, use_post_layernorm_in_modulation no, encoder_stride any?, hidden_sizes any?
with out_features any?, out_indices any?
without hidden_size, num_hidden_layers, num_attention_heads, intermediate_size
layers = sum(.depths)
e      = .embed_dim
h      = e * power(2, size(.depths) - 1)
heads  = 1                                      # it has none
norms  = 0
rows    = .image_size[0] / .patch_size[0]
columns = .image_size[1] / .patch_size[1]
l      = level(.depths, i)
w      = e * power(2, l)
side   = power(2, l)
here   = l == 0 ? null : cells(1, side)          # an odd side is padded
focal  = .focal_levels[l]
window = .focal_windows[l]
wide   = 2*w + focal + 1                         # queries, what they are multiplied with, and a gate for each reach
f      = floor(.mlp_ratio * w)
ends   = place(.depths, i) + 1 == .depths[l] and i + 1 < layers
scales = .use_layerscale ? 2*w : 0
after_it = .use_post_layernorm_in_modulation ? 2*w : 0
stem:
  linear in 49 * .num_channels, as patch_embedding, from x, to x, input, no_lora, norm 2*e, bias e, out e                         if .use_conv_embed
  linear in .patch_size[0] * .patch_size[1] * .num_channels, as patch_embedding, from x, to x, input, no_lora, norm 2*e, bias e, out e  if not .use_conv_embed
mixer:
  linear in w, as modulation projection_in, from x, to a, norm 4*w + scales + after_it, bias wide, out wide, over here
  # Each reach is a convolution of every channel by itself over what the one before made.
  linear in power(window, 2), as modulation focal_layers.0, from a, to a, no_lora, out w, over here
  linear in power(window + 2, 2), as modulation focal_layers.1, from a, to a, no_lora, out w, over here  if focal > 1
  linear in power(window + 4, 2), as modulation focal_layers.2, from a, to a, no_lora, out w, over here  if focal > 2
  linear in power(window + 6, 2), as modulation focal_layers.3, from a, to a, no_lora, out w, over here  if focal > 3
  linear in w, as modulation projection_context, from a, to b, bias w, out w, over here
  linear in w, as modulation projection_out, from b, to c, bias w, out w, over here
feed:  mlp inner f, width w, bias f + w, over here
more:
  linear in 4*w, as patch_embedding downsampling, from x, to x, no_lora, norm 4*w, bias 2*w, out 2*w, over cells(1, 2*side)  if ends and not .use_conv_embed
  linear in 9*w, as patch_embedding downsampling, from x, to x, no_lora, norm 4*w, bias 2*w, out 2*w, over cells(1, 2*side)  if ends and .use_conv_embed
class ForImageClassification: head out labels, bias, per_sequence
class Model:
require size(.depths) > 0: .depths must have a number for each level
require size(.focal_levels) == size(.depths) and size(.focal_windows) == size(.depths): .depths must have as many numbers as focal_levels and focal_windows
require window % 2 == 1: .focal_windows must be odd
require not is_list(.image_size) or size(.image_size) == 2: .image_size must be an integer or [height, width]
require not is_list(.patch_size) or size(.patch_size) == 2: .patch_size must be an integer or [height, width]
)page";

}  // namespace floptally::models
