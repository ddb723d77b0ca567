// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_5[] = R"page(
page qwen3_5 : base.composite prefix Qwen3_5
inner text .text_config: qwen3_5_text
inner vision .vision_config: qwen3_5_vision, always
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
)page";

}  // namespace floptally::models
