// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm5_next[] = R"page(
page glm5_next : base.composite prefix Glm5Next
inner text .text_config: glm5_next_text, always, flat
inner vision .vision_config: glm5_next_vision, always
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel
)page";

}  // namespace floptally::models
