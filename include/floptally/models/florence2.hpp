// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char florence2[] = R"page(
page florence2 : base.composite prefix Florence2
with tie_word_embeddings yes
inner text .text_config: bart
inner vision .vision_config: florence_vision, always
tied   = .tie_word_embeddings
vision_units = vision.left
vision_per_frame = 1
# A token for each cell that the tower leaves, and one for what is the mean of all.
vision_projector:
  linear in vision.h, out vision.pieces, as projector image_projection, from x, to y, prefix 1, norm 2 * vision.pieces, over vision.left
  positions count vision.table_rows * vision.h
class ForConditionalGeneration: text ForConditionalGeneration or ForConditionalGeneration
class Model: text Model or Model
require vision.pieces == text.h: .vision_config.projection_dim must be the text's d_model ({text.h})
note yes: an image is a grid of the steps of the tower's first convolution, ceil(side / patch_stride[0]) by the same
)page";

}  // namespace floptally::models
