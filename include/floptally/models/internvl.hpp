// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char internvl[] = R"page(
page internvl : base.composite prefix InternVL
with vision_feature_layer number or list? from -16777216, vision_feature_layers number or list? from -16777216
with vision_feature_select_strategy "default" of default full, downsample_ratio 0.5, tie_word_embeddings yes
inner text .text_config: qwen2
inner vision .vision_config: internvl_vision
features = .vision_feature_layer // .vision_feature_layers ?? -1
keeps  = (vision.class_tokens ?? 0) - (.vision_feature_select_strategy == "default")
side   = floor(1.0 / .downsample_ratio)           # of the squares that are merged
inside = side*side * vision.h
vision_layers = depth(features, vision.layers)
vision_units = merged(side)
vision_projector:
  linear in inside, out text.h, as projector linear_1, from x, to up, units merged(side), norm 2*inside, bias text.h,
         split columns
  linear in text.h, out text.h, as projector linear_2, from up, to out, units merged(side), bias text.h, split rows
require [1.0, 0.5, 0.25, 0.125] has .downsample_ratio: .downsample_ratio must be 1.0, 0.5, 0.25 or 0.125
require count(features) == 1: .vision_feature_layer must be one integer
require keeps == 0: .vision_feature_select_strategy must leave the patches alone, without a class token
)page";

}  // namespace floptally::models
