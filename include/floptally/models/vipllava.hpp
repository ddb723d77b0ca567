// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vipllava[] = R"page(
page vipllava : base.composite prefix VipLlava
with vision_feature_layer number or list? from -16777216
inner text .text_config: llama
inner vision .vision_config: clip_vision_model, absent llava.clip
features = .vision_feature_layer // .vision_feature_layers ?? [-2, -5, -8, -11, 6]
vision_layers = depth(features, vision.layers)
vision_per_frame = vision.rows * (vision.columns ?? vision.rows)
both   = count(features) * vision.h
vision_projector:
  linear in both,   out text.h, as projector linear_1, from x, to up, norm 2 * both, bias text.h, split columns
  linear in text.h, out text.h, as projector linear_2, from up, to out, bias text.h, split rows
require vision.class_tokens == 1 and given(vision.rows): .vision_config.model_type must be a tower with one class token
)page";

}  // namespace floptally::models
