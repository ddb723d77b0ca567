// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minimax_m3_vl_text[] = R"page(
page minimax_m3_vl_text : llama prefix MiniMaxM3VL
with vocab_size 200064, hidden_size 6144, intermediate_size 3072, num_hidden_layers 60, num_attention_heads 64
with num_key_value_heads 4, head_dim 128, dense_intermediate_size 12288, shared_intermediate_size 3072
with num_local_experts 128, num_experts_per_tok 4
with layer_types list? each of full_attention minimax_m3_sparse, mlp_layer_types list? each of dense sparse
with moe_layer_freq list? each from 0 to 1 of numbers
with index_n_heads 4, index_head_dim 128, index_block_size 128, index_topk_blocks 16, index_local_blocks 1 from 0
with sparse_attention_config object?, sparse_attention_config.sparse_attention_freq list? each from 0 to 1 of numbers
with sparse_attention_config.sparse_num_index_heads number absent, sparse_attention_config.sparse_index_dim number absent
with sparse_attention_config.sparse_block_size number absent, sparse_attention_config.sparse_topk_blocks number absent
with sparse_attention_config.sparse_local_block number absent from 0
without attention_bias, mlp_bias
divides = no
qk_norm = 2*dim
# Sparse layers: a query sees the best blocks of keys, its own among them; each head of the indexer chooses for its group.
freq    = .sparse_attention_config.sparse_attention_freq
few     = given(.layer_types) ? .layer_types[i] == "minimax_m3_sparse" : given(freq) ? freq[i] == 1 : no
ih      = .sparse_attention_config.sparse_num_index_heads ?? .index_n_heads
id      = .sparse_attention_config.sparse_index_dim ?? .index_head_dim
block   = .sparse_attention_config.sparse_block_size ?? .index_block_size
blocks  = .sparse_attention_config.sparse_topk_blocks ?? .index_topk_blocks
local   = .sparse_attention_config.sparse_local_block ?? .index_local_blocks
sees    = few ? best_blocks(block, blocks) : causal
routed  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : given(.moe_layer_freq) ? .moe_layer_freq[i] == 1 : yes
mixer:
  gqa heads heads, kv kv, dim dim, norm qk_norm
  indexer heads ih, dim id, q h, no_weights, fused_sum, norm 2*id  if few
feed:
  experts of .num_experts // .num_local_experts, top .num_experts_per_tok, inner f, shared .shared_intermediate_size  if routed
  gated inner .dense_intermediate_size, fused  if not routed
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
require not few or heads % ih == 0: .index_n_heads must divide num_attention_heads ({heads})
require not few or local > 0: .index_local_blocks must be at least 1: without it the data say whether a query sees its own block
require not few or local <= blocks: .index_local_blocks must be at most index_topk_blocks ({blocks})
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
