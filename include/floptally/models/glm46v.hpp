// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm46v[] = R"page(
page glm46v : glm4v prefix Glm46V
inner text .text_config: glm4v_text
inner vision .vision_config: glm4v_vision, class VisionModel
tied   = .tie_word_embeddings
)page";

}  // namespace floptally::models
