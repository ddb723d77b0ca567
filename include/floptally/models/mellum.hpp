// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mellum[] = R"page(
page mellum : llama prefix Mellum
with vocab_size 98304, hidden_size 2304, intermediate_size 7168, num_hidden_layers 28, num_key_value_heads 4, head_dim 128
with layer_types list? each of full_attention attention sliding_attention, sliding_window 1024?
with mlp_layer_types list? each of dense sparse
with num_experts 64, num_experts_per_tok 8, moe_intermediate_size 896, num_nextn_predict_layers 0? from 0
without mlp_bias
divides = no
qk_norm = 2*dim
sees    = .layer_types[i] == "sliding_attention" ? window(.sliding_window) : causal
sparse  = not (.mlp_layer_types[i] == "dense")
mtp     = .num_nextn_predict_layers // .num_mtp_layers
feed:
  experts of .num_local_experts // .num_experts, top .num_experts_per_tok, inner .moe_intermediate_size  if sparse
  gated inner f  if not sparse
classes ForCausalLM Model
)page";

}  // namespace floptally::models
