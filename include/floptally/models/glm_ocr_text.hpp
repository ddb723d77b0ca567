// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm_ocr_text[] = R"page(
page glm_ocr_text : llama prefix GlmOcr
with vocab_size 59392, hidden_size 1024, intermediate_size 4096, num_hidden_layers 16, num_attention_heads 16
with num_key_value_heads 8?, head_dim number absent
without attention_bias, mlp_bias
divides = no
norms   = 4*h
bias    = 0
feed:  gated inner f, fused
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
