// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4[] = R"page(
page glm4 : llama prefix Glm4
with vocab_size 151552, intermediate_size 13696, num_hidden_layers 40, num_key_value_heads 2
with head_dim 128, attention_bias yes
without mlp_bias
divides = no
norms  = 4*h
bias   = .attention_bias ? (heads + 2*kv) * dim : 0
feed:  gated inner f, fused
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
