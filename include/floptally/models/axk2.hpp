// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char axk2[] = R"page(
page axk2 : deepseek_v32 prefix AXK2
with vocab_size 163840, hidden_size 2048, intermediate_size 5120, num_hidden_layers 48, num_attention_heads 32
with num_key_value_heads 32, q_lora_rank 384, kv_lora_rank 128, qk_nope_head_dim 64, qk_rope_head_dim 32, v_head_dim 64
with n_routed_experts 128, n_group any?, topk_group any?, moe_intermediate_size 512, first_k_dense_replace 1 from 0, moe_layer_freq 1
with index_n_heads 16, index_head_dim 128, gated_norm_rank 16, head_dim any?
without num_nextn_predict_layers
sparse = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= .first_k_dense_replace and i % .moe_layer_freq == 0
every  = .moe_layer_freq
mtp    = null
r      = .gated_norm_rank
qk     = .qk_nope_head_dim + .qk_rope_head_dim
mixer:
  # A norm that gates itself through two small matrices.
  linear in h, out r, as input_layernorm fc1, from x, to gate
  linear in r, out h, as input_layernorm fc2, from gate, to y
  mla heads heads, q q, c c, nope .qk_nope_head_dim, rope .qk_rope_head_dim, dim dim, norm q + c, bias bias
  # Queries come from what the norm makes and from what it was given; so does a gate on the output.
  linear in q, out heads*qk, as attention q_gate_proj, no_lora
  linear in 2*q, out heads*dim, as attention gate_proj, no_lora
  indexer heads .index_n_heads, dim .index_head_dim, q q, norm 2*.index_head_dim
into_feed:
  linear in h, as post_attention_layernorm fc1, from x, to gate, out r  if sparse
  linear in r, as post_attention_layernorm fc2, from gate, to y, out h  if sparse
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
