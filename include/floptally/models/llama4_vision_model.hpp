// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char llama4_vision_model[] = R"page(
page llama4_vision_model : clip_vision_model prefix Llama4
with intermediate_size 5632, num_hidden_layers 34, num_attention_heads 16, image_size 448, patch_size 14
with pixel_shuffle_ratio 0.5, projector_input_dim 4096, projector_output_dim 4096, vision_output_dim 7680
side   = floor(1.0 / .pixel_shuffle_ratio)              # of the squares that are merged
out    = .projector_output_dim
stated = .vision_output_dim                             # of what the projector of llama4 takes
after: merger side side, inner out, out out
require [1.0, 0.5, 0.25, 0.125] has .pixel_shuffle_ratio: .pixel_shuffle_ratio must be 1.0, 0.5, 0.25 or 0.125
require f == side*side*h: .intermediate_size must be the width of merged patches ({side*side*h})
require .projector_input_dim == out: .projector_input_dim must be projector_output_dim ({out})
class VisionModel:
)page";

}  // namespace floptally::models
