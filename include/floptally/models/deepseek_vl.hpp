// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek_vl[] = R"page(
page deepseek_vl : base.composite prefix DeepseekVL
with tie_word_embeddings yes
inner text .text_config: llama
inner vision .vision_config: siglip_vision_model
tied   = .tie_word_embeddings
keeps  = vision.class_tokens ?? 0
vision_per_frame = keeps + vision.rows * (vision.columns ?? vision.rows)
vision_projector:
  linear in vision.h, out text.h, as projector linear_1, from x, to up, prefix keeps, bias text.h, split columns
  linear in text.h,   out text.h, as projector linear_2, from up, to out, prefix keeps, bias text.h, split rows
require given(vision.rows): .vision_config.model_type must be a tower whose images are of one size
)page";

}  // namespace floptally::models
