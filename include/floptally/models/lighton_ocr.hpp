// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lighton_ocr[] = R"page(
page lighton_ocr : mistral3 prefix LightOnOcr
with tie_word_embeddings yes
without vision_feature_layer, multimodal_projector_bias
tied   = .tie_word_embeddings
inner text .text_config: qwen3, absent lighton_ocr.text
inner vision .vision_config: pixtral, absent mistral3.pixtral
features = -1

page lighton_ocr.text : qwen3
with vocab_size 151936, hidden_size 1024, intermediate_size 3072, num_hidden_layers 28, num_attention_heads 16
with num_key_value_heads 8, head_dim 128
)page";

}  // namespace floptally::models
