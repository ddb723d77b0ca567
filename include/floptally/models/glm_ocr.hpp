// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm_ocr[] = R"page(
page glm_ocr : glm4v prefix GlmOcr
inner text .text_config: glm_ocr_text, always
inner vision .vision_config: glm_ocr_vision, always
)page";

}  // namespace floptally::models
