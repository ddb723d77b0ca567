// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mistral4[] = R"page(
page mistral4 : deepseek_v3 prefix Mistral4
with vocab_size 131072, hidden_size 4096, intermediate_size 12288, num_hidden_layers 36, num_attention_heads 32
with q_lora_rank 1024?, kv_lora_rank 256, qk_nope_head_dim 64
with n_routed_experts 128, num_experts_per_tok 4, first_k_dense_replace 0
without num_nextn_predict_layers
experts = .num_local_experts // .n_routed_experts
mtp     = null
)page";

}  // namespace floptally::models
