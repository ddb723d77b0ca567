// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char axk1[] = R"page(
page axk1 : deepseek_v3 prefix AXK1
with vocab_size 163840, num_attention_heads 64, q_lora_rank 1536
with mlp_layer_types list? each of dense sparse
with n_routed_experts 192, first_k_dense_replace 1 from 0, moe_layer_freq 1 to 10000
without num_nextn_predict_layers
experts = .num_local_experts // .n_routed_experts
every   = .moe_layer_freq
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= .first_k_dense_replace and i % every == 0
mtp     = null
feed:
  experts of experts, top .num_experts_per_tok, inner inner, shared shared, norm h  if sparse    # a norm after them
  gated inner f  if not sparse
)page";

}  // namespace floptally::models
