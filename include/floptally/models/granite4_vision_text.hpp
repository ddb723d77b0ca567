// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granite4_vision_text[] = R"page(
page granite4_vision_text : granite prefix Granite4Vision
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
