// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mistral3[] = R"page(
page mistral3 : base.composite prefix Mistral3
with vision_feature_layer number or list? from -16777216
with spatial_merge_size 2 to 65535, multimodal_projector_bias no, tie_word_embeddings flag absent
tied   = .tie_word_embeddings ?? tied_unsaid
inner text .text_config: mistral, absent mistral3.text
inner vision .vision_config: pixtral, absent mistral3.pixtral
features = .vision_feature_layer // .vision_feature_layers ?? -1
side   = .spatial_merge_size
merges = merged(side)
vision_layers = depth(features, vision.layers)
vision_units = merges
vision_projector:
  linear in side*side*vision.h, out vision.h, as projector merging_layer, from x, to merged, units merges, norm vision.h
  linear in vision.h, out text.h, as projector linear_1, from x, to up, units merges, bias .multimodal_projector_bias * text.h,
         split columns
  linear in text.h,   out text.h, as projector linear_2, from up, to out, units merges, bias .multimodal_projector_bias * text.h,
         split rows
require count(features) == 1: .vision_feature_layer must be one integer

page mistral3.text : mistral
with vocab_size 131072, hidden_size 5120, intermediate_size 32768, num_hidden_layers 40, head_dim 128
with sliding_window number?

page mistral3.pixtral : pixtral
with image_size 1540, patch_size 14
)page";

}  // namespace floptally::models
