// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cosmos3_edge_text[] = R"page(
page cosmos3_edge_text : llama prefix Cosmos3Edge
with vocab_size 131072, hidden_size 2048, intermediate_size 9216, num_hidden_layers 28, num_attention_heads 16, num_key_value_heads 8?
with head_dim 128
feed:  mlp inner f, bias .mlp_bias * (f + h)
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
