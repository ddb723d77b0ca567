// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char aya_vision[] = R"page(
page aya_vision : llava_next prefix AyaVision
with vision_feature_select_strategy "full" of default full, downsample_factor 2 to 65535
with alignment_intermediate_size number absent, tie_word_embeddings flag absent
without multimodal_projector_bias
tied   = .tie_word_embeddings ?? tied_unsaid
inner text .text_config: cohere2
inner vision .vision_config: siglip_vision_model, absent aya_vision.siglip
features = .vision_feature_layer // .vision_feature_layers ?? -1
side   = .downsample_factor
inside = side*side * vision.h
wide   = .alignment_intermediate_size ?? text.h
vision_units = merged(side)
# Half of what the first makes gates the other half.
vision_projector:
  linear in inside, out wide, as projector linear_1, from x, to up, units merged(side), norm 2*inside, bias wide,
         split columns
  linear in wide/2, out text.h, as projector linear_2, from up, to out, units merged(side), bias text.h, split rows
require wide % 2 == 0: .alignment_intermediate_size must be even
require count(features) == 1: .vision_feature_layer must be one integer

page aya_vision.siglip : siglip_vision_model
with hidden_size 1152, intermediate_size 4304, num_hidden_layers 26, num_attention_heads 14, image_size 384, patch_size 14
with vision_use_head no
)page";

}  // namespace floptally::models
