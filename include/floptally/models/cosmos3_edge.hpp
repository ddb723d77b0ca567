// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cosmos3_edge[] = R"page(
page cosmos3_edge : base.composite prefix Cosmos3Edge
with projector_hidden_size 11520
inner text .text_config: cosmos3_edge_text, always
inner vision .vision_config: cosmos3_edge_vision, always
wide   = .projector_hidden_size
side   = vision.side
inside = side*side * vision.h
vision_units = merged(side)
vision_projector:
  linear in inside, out wide, as projector linear_fc1, from x, to up, units merged(side), norm 2*vision.h, bias wide, split columns
  linear in wide, out text.h, as projector linear_fc2, from up, to out, units merged(side), bias text.h, split rows
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
require not .tie_word_embeddings: .tie_word_embeddings must be false: the class ties nothing
)page";

}  // namespace floptally::models
