// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mllama_vision_model[] = R"page(
page mllama_vision_model : base.tower prefix Mllama
with hidden_size 1280, intermediate_size 5120, num_hidden_layers 32, num_global_layers 8 from 0, num_attention_heads 16
with image_size 448, patch_size 14, num_channels 3, max_num_tiles 4, supported_aspect_ratios list?
with intermediate_layers_indices list?, vision_output_dim 7680
heads  = .attention_heads // .num_attention_heads
layers = .num_hidden_layers + .num_global_layers        # those of a second encoder have gates
more:  norm count 2  if i >= .num_hidden_layers
first_norm = 2*h
sees   = clip_squares(1)          # tiles of an image see each other, with the class token of each
class_tokens = 1
rows   = .image_size / .patch_size
# What the last layer and some before it make stands side by side, for the projector of mllama.
output = (1 + (given(.intermediate_layers_indices) ? size(.intermediate_layers_indices) : 5)) * h
stated = .vision_output_dim
ratios = given(.supported_aspect_ratios) ? size(.supported_aspect_ratios) : 8
stem:
  patches channels .num_channels, side .patch_size
  positions count (rows*rows + 2) * h
# Positions of tiles before and after the layers, and of patches within tiles, of each aspect ratio and of none.
once:
  positions count (ratios + 1) * .max_num_tiles * (rows*rows + 3) * h
  norm count 3
class VisionModel:
require given(.supported_aspect_ratios) or .max_num_tiles == 4: .max_num_tiles must be 4 where supported_aspect_ratios is absent
)page";

}  // namespace floptally::models
