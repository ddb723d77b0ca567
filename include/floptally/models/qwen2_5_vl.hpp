// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_vl[] = R"page(
page qwen2_5_vl : base.composite prefix Qwen2_5_VL
inner text .text_config: qwen2_5_vl_text, flat, older qwen2
inner vision .vision_config: qwen2_5_vl_vision, always
tied   = .tie_word_embeddings or text.tied
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel
)page";

}  // namespace floptally::models
