// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_vl_text[] = R"page(
page qwen2_5_vl_text : qwen2 prefix Qwen2_5_VL
with vocab_size 152064, hidden_size 8192, intermediate_size 29568, num_hidden_layers 80, num_attention_heads 64, num_key_value_heads 8?
with max_window_layers 80 from 0
without head_dim
divides = yes
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
