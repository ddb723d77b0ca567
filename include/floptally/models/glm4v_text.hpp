// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4v_text[] = R"page(
page glm4v_text : glm4 prefix Glm4v
with num_key_value_heads 2?
without head_dim, attention_bias
dim     = h / heads
bias    = (heads + 2*kv) * dim
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
