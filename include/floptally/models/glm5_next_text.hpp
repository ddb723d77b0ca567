// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm5_next_text[] = R"page(
page glm5_next_text : glm_moe_dsa prefix Glm5Next
with hidden_size 4096, num_hidden_layers 45, q_lora_rank 1536, qk_nope_head_dim 256, qk_rope_head_dim 0 from 0
with n_routed_experts 288, layer_types list? each of linear_attention indexed_attention full_attention
with indexer_types list? each of full shared, index_kpool 16, index_kpool_always_select_tail yes
with linear_num_heads 64, linear_head_dim 128, linear_conv_kernel_dim 4, linear_attn_config object absent, hc_mult 4
without first_k_dense_replace, num_nextn_predict_layers, head_dim
type   = .layer_types[i]
full   = given(type) ? type != "linear_attention" : i % 4 == 3
sparse = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i > 2
experts = .num_local_experts // .n_routed_experts
mtp    = null
# Kimi delta attention: heads, their dim, the kernel of its convolutions
heads_k = .linear_attn_config.num_heads // .linear_num_heads
d      = .linear_attn_config.head_dim // .linear_head_dim
kernel = .linear_attn_config.short_conv_kernel_size // .linear_conv_kernel_dim
# A query sees the best pools of keys and what is behind the last whole one.
pool   = .index_kpool
id     = .index_head_dim
n      = .hc_mult                     # streams of the residual
mixer:
  mla heads heads, q q, c c, nope .qk_nope_head_dim, rope rope, dim dim, norm q + c, bias bias,
      sees best_pools(pool, .index_topk / pool)  if full
  indexer heads .index_n_heads, dim id, q q, ratio pool, key_gate, norm 2*id, bias pool*id  if full and chooses
  kda heads heads_k, dim d, kernel kernel, norm d, bias heads_k*d + heads_k  if not full
into_mixer: hyper_connections streams n, bias (2 + n)*n + 3
into_feed:  hyper_connections streams n, bias (2 + n)*n + 3
require rope == 0: .qk_rope_head_dim is not supported; must be 0: attention has no positions
require .index_topk % pool == 0: .index_topk must be a multiple of index_kpool ({pool})
require .index_kpool_always_select_tail: .index_kpool_always_select_tail is not supported; must be true or absent
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
