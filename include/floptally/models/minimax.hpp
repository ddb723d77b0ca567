// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minimax[] = R"page(
page minimax : mixtral prefix MiniMax
with layer_types list? each of full_attention attention linear_attention mamba, num_experts 8, block_size any?
full   = given(.layer_types) ? .layer_types[i] == "full_attention" or .layer_types[i] == "attention" : i % 2 == 0
mixer:
  gqa heads heads, kv kv, dim dim  if full
  lightning heads heads, dim dim, norm heads*dim  if not full
feed:  experts of .num_local_experts // .num_experts, top .num_experts_per_tok, inner f
)page";

}  // namespace floptally::models
