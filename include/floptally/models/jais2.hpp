// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char jais2[] = R"page(
page jais2 : llama prefix Jais2
with vocab_size 150272, hidden_size 3328, intermediate_size 26624, num_attention_heads 26
with attention_bias yes, mlp_bias yes
norms  = 4*h
final_norm = 2*h
mtp_norms = norms + 6*h
feed:  mlp inner f, bias .mlp_bias * (f + h)
classes ForCausalLM Model
)page";

}  // namespace floptally::models
