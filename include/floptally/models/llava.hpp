// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char llava[] = R"page(
page llava : base.composite prefix Llava
with vision_feature_layer number or list? from -16777216, vision_feature_select_strategy "default" of default full
with multimodal_projector_bias yes
inner text .text_config: llama
inner vision .vision_config: clip_vision_model, absent llava.clip
tied   = .tie_word_embeddings or text.tied
keeps  = (vision.class_tokens ?? 0) - (.vision_feature_select_strategy == "full" ? 0 : 1)
features = .vision_feature_layer // .vision_feature_layers ?? -2
vision_layers = depth(features, vision.layers)
vision_per_token = given(vision.class_tokens) ? 0 : 1
vision_per_frame = given(vision.class_tokens) ? keeps + vision.rows * (vision.columns ?? vision.rows) : keeps
require keeps >= 0: .vision_feature_select_strategy must be "full" for a tower without a class token
vision_projector:
  linear in count(features) * vision.h, out text.h, as projector linear_1, from x, to up, prefix keeps, bias .multimodal_projector_bias * text.h,
         split columns
  linear in text.h,   out text.h, as projector linear_2, from up, to out, prefix keeps, bias .multimodal_projector_bias * text.h,
         split rows

page llava.clip : clip_vision_model
with hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16, image_size 336, patch_size 14
)page";

}  // namespace floptally::models
