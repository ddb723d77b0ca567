// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char internvl[] = R"page(
page internvl : llava_next prefix InternVL
with downsample_ratio 0.5, tie_word_embeddings flag absent
without multimodal_projector_bias
tied   = .tie_word_embeddings ?? tied_unsaid
inner text .text_config: qwen2
inner vision .vision_config: internvl_vision
features = .vision_feature_layer // .vision_feature_layers ?? -1
side   = floor(1.0 / .downsample_ratio)           # of the squares that are merged
inside = side*side * vision.h
vision_units = merged(side)
vision_projector:
  linear in inside, out text.h, as projector linear_1, from x, to up, units merged(side), norm 2*inside, bias text.h,
         split columns
  linear in text.h, out text.h, as projector linear_2, from up, to out, units merged(side), bias text.h, split rows
require [1.0, 0.5, 0.25, 0.125] has .downsample_ratio: .downsample_ratio must be 1.0, 0.5, 0.25 or 0.125
require count(features) == 1: .vision_feature_layer must be one integer
)page";

}  // namespace floptally::models
