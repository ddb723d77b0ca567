// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hunyuan_vl_text[] = R"page(
page hunyuan_vl_text : llama prefix HunYuanVL
with vocab_size 290943, head_dim number, tie_word_embeddings yes
without mlp_bias
divides = no
v       = .vocab_size // .org_vocab_size
dim     = .head_dim // .attention_head_dim
qk_norm = 2*dim
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
