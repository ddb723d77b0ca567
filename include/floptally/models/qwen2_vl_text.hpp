// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_vl_text[] = R"page(
page qwen2_vl_text : qwen2_5_vl_text prefix Qwen2VL
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
