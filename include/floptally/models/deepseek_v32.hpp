// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek_v32[] = R"page(
page deepseek_v32 : deepseek_v3 prefix DeepseekV32
with q_lora_rank 1536, index_n_heads 64, index_head_dim 128, index_topk 2048 to 2147483647, num_nextn_predict_layers 0?
with layer_types any?, mlp_layer_types list? each of dense sparse
sparse = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= .first_k_dense_replace
sees = top(.index_topk)
mixer:
  mla heads heads, q q, c c, nope .qk_nope_head_dim, rope rope, dim dim, norm q + c, bias bias
  indexer heads .index_n_heads, dim .index_head_dim, q q, norm 2*.index_head_dim
classes ForCausalLM Model
)page";

}  // namespace floptally::models
