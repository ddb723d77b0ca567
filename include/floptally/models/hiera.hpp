// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hiera[] = R"page(
page hiera : base.tower prefix Hiera
with embed_dim 96, image_size [224, 224] of numbers, patch_size [7, 7] of numbers, patch_stride [4, 4] of numbers
with patch_padding [3, 3] from 0 of numbers, num_channels 3, mlp_ratio 4.0 to 1024, depths [2, 3, 16, 3] of numbers, num_heads [1, 2, 4, 8] of numbers
with embed_dim_multiplier 2.0 to 1024, num_query_pool 3 from 0, query_stride [2, 2] of numbers, masked_unit_size [8, 8] of numbers
with masked_unit_attention [yes, yes, no, no], num_layers any?, out_features any?, out_indices any?
with mask_ratio any?, decoder_hidden_size any?, decoder_depth any?, decoder_num_heads any?        # of its pre-training
without hidden_size, num_hidden_layers, num_attention_heads, intermediate_size
layers = sum(.depths)
e      = .embed_dim
h      = e * power(2, size(.depths) - 1)
heads  = 1                                      # each level has its own
norms  = 0
final_norm = 0
rows    = .image_size[0] / .patch_stride[0]
columns = .image_size[1] / .patch_stride[1]
l      = level(.depths, i)
first  = place(.depths, i) == 0
w      = e * power(2, l)
in     = first and l > 0 ? w / 2 : w
f      = floor(.mlp_ratio * w)
nheads = .num_heads[l]
side   = power(2, min(l, .num_query_pool))
pools  = first and l > 0 and l <= .num_query_pool       # the queries of its first layer are the largest of 2 x 2
before = pools ? side / 2 : side
here   = side == 1 ? null : merged(side)
from   = before == 1 ? null : merged(before)
# Units of the image that attend themselves alone, as in the pre-training, where the others are left out; pooled as well.
masked = .masked_unit_attention[l] or (first and .masked_unit_attention[max(l, 1) - 1])
unit   = product(.masked_unit_size) / power(4, l) * (pools ? 4 : 1)
stem:
  linear in product(.patch_size) * .num_channels, as patch_embedding, from x, to x, input, no_lora, bias e, out e
  positions count rows*columns * e
mixer:
  linear in in, as attention shortcut, from x, to short, norm 2*in + 2*w, bias w, out w, over from      if in != w
  norm count 4*w                                                                                      if in == w
  linear in in, as attention qkv_proj, from x, to qkv, bias 3*w, out 3*w, over from
  core heads nheads, as attention.core, from qkv, to seen, dim w / nheads, pairs unit, over here       if masked
  core heads nheads, as attention.core, from qkv, to seen, dim w / nheads, sees reduced(side, side, before, before)  if not masked
  linear in w, as attention o_proj, from seen, to y, bias w, out w, over here
feed:  mlp inner f, width w, bias f + w, over here
class ForImageClassification:
  head out labels, bias, per_sequence
  norm count 2*h
class Model: norm count 2*h
require .embed_dim_multiplier == 2.0: .embed_dim_multiplier is not supported; must be 2
require size(.query_stride) == 2 and .query_stride[0] == 2 and .query_stride[1] == 2: .query_stride is not supported; must be [2, 2]
require size(.image_size) == 2 and size(.patch_size) == 2 and size(.patch_stride) == 2: .image_size must be [height, width], as patch_size and patch_stride
require .patch_padding[0] == .patch_size[0] / 2 and .patch_padding[1] == .patch_size[1] / 2: .patch_padding must be half of patch_size
require size(.num_heads) == size(.depths) and size(.masked_unit_attention) == size(.depths): .depths must have as many numbers as num_heads and masked_unit_attention
require not masked or unit > 0: .masked_unit_size must be whole at every level that attends by units
require w % nheads == 0: .num_heads must divide the width of its level ({w})
)page";

}  // namespace floptally::models
