// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek_v3[] = R"page(
page deepseek_v3 : llama prefix DeepseekV3
with vocab_size 129280, hidden_size 7168, intermediate_size 18432, num_hidden_layers 61, num_attention_heads 128
with q_lora_rank 1536?, kv_lora_rank 512, qk_nope_head_dim 128, qk_rope_head_dim 64, v_head_dim 128
with n_routed_experts 256, num_experts_per_tok 8, moe_intermediate_size 2048
with n_shared_experts 1 from 0, first_k_dense_replace 3 from 0, moe_layer_freq 1?, num_nextn_predict_layers 1? from 0
with qk_head_dim any?                # a saved sum of two
without mlp_bias, head_dim
divides = no
q      = .q_lora_rank ?? 0
c      = .kv_lora_rank
rope   = .qk_rope_head_dim
dim    = .v_head_dim
bias   = .attention_bias ? q + c + rope + h : 0
experts = .num_local_experts // .num_experts // .n_routed_experts
inner  = .moe_intermediate_size
shared = .n_shared_experts * inner
sparse = i >= .first_k_dense_replace
every  = 1                        # which layers have experts: the classes do not read moe_layer_freq
mtp    = .num_nextn_predict_layers // .num_mtp_layers
mixer: mla heads heads, q q, c c, nope .qk_nope_head_dim, rope rope, dim dim, norm q + c, bias bias
feed:
  experts of experts, top .num_experts_per_tok, inner inner, shared shared  if sparse
  gated inner f  if not sparse
require h >= heads: .num_attention_heads must be at most hidden_size ({h})
require kv == heads: .num_key_value_heads must be num_attention_heads ({heads}) or absent: latent attention has as many
require (.moe_layer_freq ?? every) == every: .moe_layer_freq is not supported; must be 1 or absent
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
