// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char afmoe[] = R"page(
page afmoe : glm4_moe prefix Afmoe
with vocab_size 200192, hidden_size 2048, intermediate_size 6144, num_hidden_layers 32, num_attention_heads 16
with num_key_value_heads number?, head_dim 128
with layer_types list? each of full_attention attention sliding_attention, sliding_window 1024?, global_attn_every_n_layers 4 to 10000
with num_experts 64, num_experts_per_tok 6, moe_intermediate_size 1408, num_shared_experts 2 from 0, num_dense_layers 1 from 0
without use_qk_norm, n_routed_experts, n_shared_experts, first_k_dense_replace, num_nextn_predict_layers
norms   = 4*h
slides  = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % .global_attn_every_n_layers != 0
sees    = slides ? window(.sliding_window) : causal
qk_norm = 2*dim
bias    = .attention_bias ? (heads + 2*kv) * dim + h : 0
sparse  = i >= .num_dense_layers
mtp     = null
mixer:  gqa heads heads, kv kv, dim dim, gate heads*dim, norm qk_norm, bias bias
feed:
  experts of .num_experts, top .num_experts_per_tok, inner inner, shared .num_shared_experts * inner,
          bias .num_experts  if sparse
  gated inner f  if not sparse
)page";

}  // namespace floptally::models
