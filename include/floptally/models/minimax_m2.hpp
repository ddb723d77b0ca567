// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minimax_m2[] = R"page(
page minimax_m2 : llama prefix MiniMaxM2
with vocab_size 200064, hidden_size 3072, intermediate_size 1536, num_hidden_layers 62, num_attention_heads 48
with num_key_value_heads 8, head_dim 128, num_local_experts 256, num_experts_per_tok 8
with num_mtp_modules 0?, mtp_transformer_layers 1, attn_type_list list?, shared_intermediate_size 0
without attention_bias, mlp_bias
divides = no
qk_norm = (heads + kv) * dim
mtp    = (.num_mtp_modules ?? 0) * .mtp_transformer_layers
feed:  experts of .num_experts // .num_local_experts, top .num_experts_per_tok, inner f
require not (.attn_type_list has 0): .attn_type_list is not supported; must be of 1, full attention, or absent
require .shared_intermediate_size == 0: .shared_intermediate_size is not supported; must be 0 or absent
classes ForCausalLM Model
)page";

}  // namespace floptally::models
