// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char got_ocr2[] = R"page(
page got_ocr2 : base.composite prefix GotOcr2
with tie_word_embeddings yes
with image_seq_length any?        # of the processor
inner text .text_config: qwen2, absent got_ocr2.text
inner vision .vision_config: got_ocr2_vision, always
tied   = .tie_word_embeddings
w      = vision.out
vision_units = cells(1, 4)
# Each convolution leaves every second row and column.
vision_projector:
  linear in 9*w, out 2*w,      as projector conv_upsampler1, from x, to a, no_lora, units cells(1, 2)
  linear in 18*w, out text.h,  as projector conv_upsampler2, from a, to b, no_lora, units cells(1, 4)
  linear in text.h, out text.h, as projector multimodal_projector, from b, to y, units cells(1, 4), bias text.h

page got_ocr2.text : qwen2
with vocab_size 151860, hidden_size 1024, intermediate_size 2816, num_hidden_layers 24, num_attention_heads 16
with num_key_value_heads 16, tie_word_embeddings yes
)page";

}  // namespace floptally::models
