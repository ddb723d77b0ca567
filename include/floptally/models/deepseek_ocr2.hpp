// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek_ocr2[] = R"page(
# A page and tiles of it, each a grid; their tokens stand one after the other, and one vector behind them.
page deepseek_ocr2 : base.composite prefix DeepseekOcr2
inner text .text_config: deepseek_ocr2_text, always
inner vision .vision_config: deepseek_ocr2_vision, always
tied   = .tie_word_embeddings
vision_projector:
  linear in vision.h, out text.h, as projector, from x, to y, units merged(4), bias text.h
  positions count text.h
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
)page";

}  // namespace floptally::models
