// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char nanochat[] = R"page(
# Its norms, of queries and keys too, have no weights.
page nanochat : llama prefix NanoChat
with vocab_size 50304, hidden_size 768, intermediate_size 8192, num_hidden_layers 12, num_attention_heads 6
with head_dim number absent
without mlp_bias
divides = no
norms  = 0
final_norm = 0
mtp_norms = 0
feed:  mlp inner f
classes ForCausalLM Model
)page";

}  // namespace floptally::models
