// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qianfan_ocr[] = R"page(
page qianfan_ocr : internvl prefix QianfanOCR
with tie_word_embeddings no
tied   = .tie_word_embeddings
inner text .text_config: qwen3
inner vision .vision_config: qianfan_ocr_vision
)page";

}  // namespace floptally::models
