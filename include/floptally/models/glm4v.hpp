// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4v[] = R"page(
page glm4v : base.composite prefix Glm4v
inner text .text_config: glm4v_text, always
inner vision .vision_config: glm4v_vision, always
tied   = .tie_word_embeddings or text.tied
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel
)page";

}  // namespace floptally::models
