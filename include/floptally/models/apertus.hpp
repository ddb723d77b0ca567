// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char apertus[] = R"page(
page apertus : llama prefix Apertus
with vocab_size 131072, intermediate_size 14336, head_dim number absent, hidden_act "xielu"
without mlp_bias
divides = no
qk_norm = 2*dim
feed:  mlp inner f
more:  bias count 2  if .hidden_act == "xielu"      # the two numbers that xIELU learns
classes ForCausalLM Model ForTokenClassification
)page";

}  // namespace floptally::models
