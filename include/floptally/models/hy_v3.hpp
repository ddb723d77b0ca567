// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hy_v3[] = R"page(
page hy_v3 : llama prefix HYV3
with vocab_size 120832, intermediate_size 13312, num_hidden_layers 80, num_attention_heads 64, num_key_value_heads 8, head_dim 128
with mlp_layer_types list? each of dense sparse
with num_experts 192, num_experts_per_tok 8, moe_intermediate_size 1536, num_shared_experts 1
with num_nextn_predict_layers 0? from 0
divides = no
qk_norm = 2*dim
inner   = .moe_intermediate_size
shared  = .num_shared_experts * inner
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i > 0
mtp     = .num_nextn_predict_layers
feed:
  experts of .num_local_experts // .num_experts, top .num_experts_per_tok, inner inner, shared shared,
          bias .mlp_bias * (2*shared + h)  if sparse
  gated inner f, bias .mlp_bias * (2*f + h)  if not sparse
classes ForCausalLM Model
)page";

}  // namespace floptally::models
