// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4_moe[] = R"page(
page glm4_moe : llama prefix Glm4Moe
with vocab_size 151552, intermediate_size 10944, num_hidden_layers 46, num_attention_heads 96, num_key_value_heads 8
with head_dim number absent, use_qk_norm no
with n_routed_experts 128, num_experts_per_tok 8, moe_intermediate_size 1408, n_shared_experts 1 from 0
with first_k_dense_replace 1 from 0, num_nextn_predict_layers 1? from 0
without mlp_bias
divides = no
bias    = .attention_bias ? (heads + 2*kv) * dim : 0
qk_norm = .use_qk_norm ? 2*dim : 0
experts = .num_local_experts // .n_routed_experts
inner   = .moe_intermediate_size
sparse  = i >= .first_k_dense_replace
mtp     = .num_nextn_predict_layers // .num_mtp_layers
feed:
  experts of experts, top .num_experts_per_tok, inner inner, shared .n_shared_experts * inner  if sparse
  gated inner f  if not sparse
classes ForCausalLM Model
)page";

}  // namespace floptally::models
