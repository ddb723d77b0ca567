// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char exaone_moe[] = R"page(
page exaone_moe : glm4_moe prefix ExaoneMoe
with vocab_size 102400, intermediate_size 16384, num_hidden_layers 32, num_attention_heads 32, num_key_value_heads 32
with layer_types list? each of full_attention attention sliding_attention, sliding_window 4096?
with sliding_window_pattern 4 to 10000
with mlp_layer_types list? each of dense sparse
with num_experts 64, num_experts_per_tok 8, moe_intermediate_size 1024, num_shared_experts 1 from 0
with num_nextn_predict_layers 0? from 0
without attention_bias, use_qk_norm, n_routed_experts, n_shared_experts
slides  = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % .sliding_window_pattern != 0
sees    = slides ? window(.sliding_window) : causal
qk_norm = 2*dim
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= .first_k_dense_replace
bias    = 0
mtp     = .num_nextn_predict_layers
feed:
  experts of .num_experts, top .num_experts_per_tok, inner inner, shared .num_shared_experts * inner  if sparse
  gated inner f  if not sparse
)page";

}  // namespace floptally::models
