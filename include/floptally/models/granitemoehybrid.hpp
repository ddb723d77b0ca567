// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granitemoehybrid[] = R"page(
page granitemoehybrid : bamba prefix GraniteMoeHybrid
with vocab_size 32000, intermediate_size 11008, num_key_value_heads number?
with layer_types list? of linear_attention mamba full_attention attention
with layers_block_type list? of linear_attention mamba full_attention attention
with num_local_experts 8 from 0, num_experts_per_tok 2, shared_intermediate_size 1024
without attn_layer_indices, mlp_bias, layers_num_experts
types  = .layers_block_type // .layer_types
full   = types[i] == "full_attention" or types[i] == "attention"
shared = .shared_intermediate_size                 # there without experts too
sparse = .num_local_experts > 0
feed:
  experts of .num_local_experts, top .num_experts_per_tok, inner f, shared shared  if sparse
  gated inner shared, fused  if not sparse
)page";

}  // namespace floptally::models
