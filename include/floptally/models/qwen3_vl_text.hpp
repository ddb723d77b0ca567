// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_vl_text[] = R"page(
page qwen3_vl_text : llama prefix Qwen3VL
with vocab_size 151936, intermediate_size 22016, num_key_value_heads 32?, head_dim 128
without mlp_bias
divides = no
qk_norm = 2*dim
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
