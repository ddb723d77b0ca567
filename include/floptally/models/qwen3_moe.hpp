// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_moe[] = R"page(
page qwen3_moe : qwen3 prefix Qwen3Moe
with hidden_size 2048, intermediate_size 6144, num_hidden_layers 24, num_key_value_heads 4, head_dim number absent
with num_experts 128 from 0, num_experts_per_tok 8, moe_intermediate_size 768
with decoder_sparse_step 1, mlp_only_layers list? from 0 to 10000 of numbers
without layer_types, max_window_layers
experts = .num_local_experts // .num_experts
slides = yes
sparse = experts > 0 and (i + 1) % .decoder_sparse_step == 0 and not (.mlp_only_layers has i)
feed:
  experts of experts, top .num_experts_per_tok, inner .moe_intermediate_size  if sparse
  gated inner f  if not sparse
)page";

}  // namespace floptally::models
