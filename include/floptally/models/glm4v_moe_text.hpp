// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4v_moe_text[] = R"page(
page glm4v_moe_text : glm4_moe prefix Glm4vMoe
with vocab_size 151424, attention_bias yes
without use_qk_norm, num_nextn_predict_layers
qk_norm = 0
mtp     = null
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
