// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek_v2[] = R"page(
page deepseek_v2 : deepseek_v3 prefix DeepseekV2
with vocab_size 102400, hidden_size 4096, intermediate_size 11008, num_hidden_layers 32, num_attention_heads 32, mlp_bias no
with n_routed_experts 64, num_experts_per_tok number, moe_intermediate_size 1407, n_shared_experts 2, first_k_dense_replace 0
without num_nextn_predict_layers
divides = yes
experts = .num_experts // .n_routed_experts
mtp     = null
feed:
  experts of experts, top .num_experts_per_tok, inner inner, shared shared,
          bias .mlp_bias ? 2*shared + h : 0  if sparse
  gated inner f, bias .mlp_bias * (2*f + h)  if not sparse
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
