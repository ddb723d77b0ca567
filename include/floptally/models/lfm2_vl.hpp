// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lfm2_vl[] = R"page(
page lfm2_vl : base.composite prefix Lfm2Vl
with downsample_factor 2 to 65535, projector_hidden_size 2560, projector_bias yes, projector_use_layernorm yes
with tie_word_embeddings flag absent
inner text .text_config: lfm2
inner vision .vision_config: siglip2_vision_model
tied   = .tie_embedding // .tie_word_embeddings ?? tied_unsaid
side   = .downsample_factor
inside = side*side * vision.h
wide   = .projector_hidden_size
normed = .projector_use_layernorm ? inside : 0     # how wide what enters the projector is normed
vision_units = merged(side)
vision_projector:
  linear in inside, out wide, as projector linear_1, from x, to up, units merged(side), bias .projector_bias * wide,
         split columns
  linear in wide, out text.h, as projector linear_2, from up, to out, units merged(side), bias .projector_bias * text.h,
         split rows
  norm count 2*normed
)page";

}  // namespace floptally::models
