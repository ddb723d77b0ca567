// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cohere2_vision[] = R"page(
page cohere2_vision : base.composite prefix Cohere2Vision
with downsample_factor 2 to 65535, alignment_intermediate_size 36864, tie_word_embeddings flag absent
tied   = .tie_word_embeddings ?? tied_unsaid
inner text .text_config: cohere2
inner vision .vision_config: siglip_vision_model, absent cohere2_vision.siglip
side   = .downsample_factor
wide   = .alignment_intermediate_size
vision_units = merged(side)
# Half of what the first makes gates the other half.
vision_projector:
  linear in side*side*vision.h, out wide, as projector linear_1, from x, to up, units merged(side), bias wide,
         split columns
  linear in wide/2, out text.h, as projector linear_2, from up, to out, units merged(side), bias text.h, split rows
require wide % 2 == 0: .alignment_intermediate_size must be even

page cohere2_vision.siglip : siglip_vision_model
with hidden_size 1152, num_hidden_layers 27, num_attention_heads 12, image_size 512
)page";

}  // namespace floptally::models
