// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pix2struct[] = R"page(
page pix2struct : base.composite prefix Pix2Struct
with is_vqa any?
inner text .text_config: pix2struct_text_model, always
inner vision .vision_config: pix2struct_vision_model, always
tied   = .tie_word_embeddings
class ForConditionalGeneration: text TextModel
)page";

}  // namespace floptally::models
