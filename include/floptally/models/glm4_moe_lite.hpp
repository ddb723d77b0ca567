// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4_moe_lite[] = R"page(
page glm4_moe_lite : deepseek_v3 prefix Glm4MoeLite
with vocab_size 154880, hidden_size 2048, intermediate_size 10240, num_hidden_layers 47, num_attention_heads 20
with head_dim number absent, q_lora_rank 768?, kv_lora_rank 512, qk_nope_head_dim 192, qk_rope_head_dim 64, v_head_dim 256
with mlp_layer_types list? each of dense sparse
with n_routed_experts 64, num_experts_per_tok 4, moe_intermediate_size 1536, first_k_dense_replace 1? from 0
with num_nextn_predict_layers 0? from 0
rope    = .head_dim ?? .qk_rope_head_dim
experts = .num_local_experts // .n_routed_experts
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i > 0
mtp     = .num_nextn_predict_layers
require given(.mlp_layer_types) or (.first_k_dense_replace ?? 1) == 1: .first_k_dense_replace is not supported; must be 1 or absent
classes ForCausalLM Model
)page";

}  // namespace floptally::models
