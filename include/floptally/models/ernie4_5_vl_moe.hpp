// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ernie4_5_vl_moe[] = R"page(
page ernie4_5_vl_moe : base.composite prefix Ernie4_5_VLMoe
with tie_word_embeddings yes
inner text .text_config: ernie4_5_vl_moe_text, always
inner vision .vision_config: ernie4_5_vl_moe_vision, always
side   = vision.side
inside = side*side * vision.h
vision_units = merged_pairs(side)
# Squares of patches, then those of two frames side by side (an image stands beside itself), then the text's width.
vision_projector:
  linear in inside, out inside,   as projector spatial_1,  from x, to a, units merged(side), bias inside
  linear in inside, out inside,   as projector spatial_2,  from a, to b, units merged(side), bias inside, norm 2*inside
  linear in 2*inside, out inside, as projector temporal_1, from b, to c, units merged_pairs(side), bias inside
  linear in inside, out inside,   as projector temporal_2, from c, to d, units merged_pairs(side), bias inside, norm 2*inside
  linear in inside, out text.h,   as projector mlp, from d, to y, units merged_pairs(side), bias text.h, norm text.h
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel
require vision.pair == 2: .vision_config.temporal_merge_size must be 2: the class puts two frames side by side
)page";

}  // namespace floptally::models
