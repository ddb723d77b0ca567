// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_vl[] = R"page(
page qwen3_vl : base.composite prefix Qwen3VL
inner text .text_config: qwen3_vl_text, always
inner vision .vision_config: qwen3_vl_vision, always
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel
)page";

}  // namespace floptally::models
