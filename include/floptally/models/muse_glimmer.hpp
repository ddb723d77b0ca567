// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char muse_glimmer[] = R"page(
page muse_glimmer : base.composite prefix MuseGlimmer
with out_hidden_size 6144, projector_hidden_size 4096
inner text .text_config: muse_glimmer_text, always
inner vision .vision_config: muse_glimmer_vision, always
wide   = .projector_hidden_size
merges = merged(vision.side)
inside = vision.side * vision.side * vision.h
vision_units = merges
vision_projector:
  linear in inside, out wide, as projector fc1, from x, to up, units merges, split columns
  linear in wide, out wide,   as projector fc2, from up, to out, units merges, split rows
  linear in wide, out text.h, as projector vision_projection, from out, to y, units merges
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
require .out_hidden_size == inside: .out_hidden_size must be the width of merged patches ({inside})
)page";

}  // namespace floptally::models
