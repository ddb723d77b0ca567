// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lfm3_vl[] = R"page(
page lfm3_vl : base.composite prefix Lfm3Vl
with projector_hidden_size 4096, projector_bias yes, tie_word_embeddings yes
inner text .text_config: lfm3
inner vision .vision_config: lfm3_vl_vision, always
side   = vision.side
inside = side*side * vision.h
wide   = .projector_hidden_size
vision_units = merged(side)
vision_projector:
  linear in inside, out wide, as projector linear_1, from x, to up, units merged(side), bias .projector_bias * wide,
         split columns
  linear in wide, out text.h, as projector linear_2, from up, to out, units merged(side), bias .projector_bias * text.h,
         split rows
  norm count 2*vision.h
)page";

}  // namespace floptally::models
