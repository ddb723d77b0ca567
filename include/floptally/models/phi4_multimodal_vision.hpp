// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char phi4_multimodal_vision[] = R"page(
# An image is two grids: the whole in pieces of crop_size, which are attended one by one, and a small one of one piece.
page phi4_multimodal_vision : siglip_vision_model prefix Phi4Multimodal
with hidden_size 1152, intermediate_size 4304, num_hidden_layers 27, num_attention_heads 16, image_size 448, patch_size 14
with crop_size 448, feature_layer number? from -10000
without vision_use_head
sees   = grid(rows)
takes  = .feature_layer ?? -2
pieces = cells(1, rows)
# A head of each piece, whose result nobody reads.
after:
  linear in h, out h, as merger head_q, over pieces, attends pieces, detached
  linear in h, out h, as merger head_kv, applied 2, stored 2, detached
  core heads heads, dim dim, as merger, pairs 1, detached
  linear in h, out h, as merger head_out, over pieces, attends pieces, detached
  linear in h, out f, as merger head_fc1, over pieces, attends pieces, detached
  linear in f, out h, as merger head_fc2, over pieces, attends pieces, detached
  norm count 2*h
  bias count 5*h + f
  positions count h
class VisionModel:
require rows % 2 == 0: .image_size must be of an even number of patches ({rows}), of which four are averaged
require .crop_size == .image_size: .crop_size must be image_size ({.image_size})
)page";

}  // namespace floptally::models
