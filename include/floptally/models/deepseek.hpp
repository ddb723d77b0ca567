// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek[] = R"page(
# DeepSeekMoE: the experts of DeepSeek-V2 behind plain attention.
page deepseek : base.decoder prefix Deepseek
with intermediate_size 11008, num_key_value_heads number?, attention_bias no
with n_routed_experts number, num_experts_per_tok number, moe_intermediate_size 1407, n_shared_experts 0 from 0
with first_k_dense_replace 0 from 0, moe_layer_freq 1?
divides = yes
kv     = .num_key_value_heads ?? heads
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
inner  = .moe_intermediate_size
sparse = i >= .first_k_dense_replace
feed:
  experts of .n_routed_experts, top .num_experts_per_tok, inner inner, shared .n_shared_experts * inner  if sparse
  gated inner f  if not sparse
require (.moe_layer_freq ?? 1) == 1: .moe_layer_freq is not supported; must be 1 or absent
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
