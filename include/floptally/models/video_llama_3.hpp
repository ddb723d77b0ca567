// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char video_llama_3[] = R"page(
page video_llama_3 : base.composite prefix VideoLlama3
inner text .text_config: qwen2
inner vision .vision_config: video_llama_3_vision, always
tied   = .tie_word_embeddings or text.tied
vision_projector:
  linear in vision.h, out text.h, as projector linear_1, from x, to up, bias text.h, split columns
  linear in text.h,   out text.h, as projector linear_2, from up, to out, bias text.h, split rows
)page";

}  // namespace floptally::models
