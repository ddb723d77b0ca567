// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lfm2_moe[] = R"page(
page lfm2_moe : lfm2 prefix Lfm2Moe
with hidden_size 2048, intermediate_size 7168
with layer_types list each of full_attention attention conv
with num_experts 32, num_experts_per_tok 4, moe_intermediate_size 1792, num_dense_layers 2 from 0
without full_attn_idxs, block_auto_adjust_ff_dim, block_multiple_of, block_ffn_dim_multiplier
f       = .intermediate_size
feed:
  experts of .num_experts, top .num_experts_per_tok, inner .moe_intermediate_size  if i >= .num_dense_layers
  gated inner f  if i < .num_dense_layers
)page";

}  // namespace floptally::models
