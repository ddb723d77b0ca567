// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char emu3_text_model[] = R"page(
page emu3_text_model : llama prefix Emu3
with vocab_size 184622, intermediate_size 14336, num_key_value_heads 8?
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
