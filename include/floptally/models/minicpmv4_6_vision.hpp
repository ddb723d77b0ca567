// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minicpmv4_6_vision[] = R"page(
# Behind one layer squares of patches become one each: they see each other, then a feed-forward takes all of them. The
# layers behind run on what is left.
page minicpmv4_6_vision : idefics2_vision prefix MiniCPMV4_6
with patch_size 16, insert_layer_id 6 from 0, window_kernel_size list?
side   = .image_size / .patch_size                # of the table of positions
window = .window_kernel_size ?? [2, 2]
inside = 4*h
wide   = 4*f
merges = yes
merged_behind = .insert_layer_id
left   = merges and i > .insert_layer_id ? merged(2) : null
seen   = merges and i > .insert_layer_id ? merged_squares(2) : null
mixer: gqa heads heads, dim dim, bias bias, over left, attends seen
feed:  mlp inner f, bias f + h, over left
more:
  gqa heads heads, dim dim, bias bias, sees grid(2)                                        if i == .insert_layer_id and merges
  linear in inside, out wide, as merger linear_1, from x, to up, units merged(2), bias wide,
         norm 2*inside + 2*h, split columns                                                if i == .insert_layer_id and merges
  linear in wide, out h, as merger linear_2, from up, to out, units merged(2), bias h, split rows  if i == .insert_layer_id and merges
  # What a model has that does not merge here.
  linear in h, out h, applied 0, stored 4, as merger idle_attention, bias bias            if i == .insert_layer_id and not merges
  linear in inside, out wide, applied 0, stored 1, as merger idle_linear_1, bias wide,
         norm 2*inside + 2*h                                                              if i == .insert_layer_id and not merges
  linear in wide, out h, applied 0, stored 1, as merger idle_linear_2, bias h             if i == .insert_layer_id and not merges
class VisionModel:
require .insert_layer_id < layers: .insert_layer_id must be below num_hidden_layers ({layers})
require size(window) == 2 and window[0] == 2 and window[1] == 2: .window_kernel_size must be [2, 2]
)page";

}  // namespace floptally::models
