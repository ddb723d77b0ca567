// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char janus[] = R"page(
page janus : base.composite prefix Janus
with tie_word_embeddings yes, vq_config any?
inner text .text_config: llama
inner vision .vision_config: janus_vision_model, always
tied   = .tie_word_embeddings
wide   = vision.wide
vision_per_frame = vision.rows * vision.rows
vision_projector:
  linear in vision.h, out wide, as projector linear_1, from x, to y, bias wide
  linear in wide, out wide, as projector linear_2, from y, to y, times vision.deep, bias wide
require wide == text.h: .vision_config.projection_dim must be the text's hidden_size ({text.h})
note yes: images are read, not made: neither the autoencoder of images and its tokens (vq_config) nor its parameters are counted
)page";

}  // namespace floptally::models
