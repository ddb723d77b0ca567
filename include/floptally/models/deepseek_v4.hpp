// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek_v4[] = R"page(
page deepseek_v4 : llama prefix DeepseekV4
with vocab_size 129280, hidden_size 4096, num_hidden_layers 43, num_attention_heads 64, num_key_value_heads 1, head_dim 512
with q_lora_rank 1024, o_lora_rank 1024, o_groups 8, sliding_window 128
with layer_types list? of sliding_attention compressed_sparse_attention heavily_compressed_attention
with compress_ratios list? from 0 to 128 of numbers, compress_rate_csa number absent, compress_rate_hca number absent
with compress_rates.compressed_sparse_attention 4, compress_rates.heavily_compressed_attention 128
with index_n_heads 64, index_head_dim 128, index_topk 512
with n_routed_experts 256, num_experts_per_tok 6, moe_intermediate_size 2048, n_shared_experts 1
with mlp_layer_types list? of hash_moe moe
with num_hash_layers any?          # a router by hashes has its matrix too
with hc_mult 4, num_nextn_predict_layers 1 from 0
with intermediate_size number absent      # another name of moe_intermediate_size
without attention_bias
divides = no
# Each layer sees a window of tokens; a sparse one besides the best of many compressed keys, a heavy one all of few.
types   = .layer_types
ratios  = .compress_ratios
at      = i                        # which go on with those of multi-token prediction
inside  = i < layers               # a layer that predicts more tokens sees its window alone
sparse  = inside and (given(types) ? types[at] == "compressed_sparse_attention" : given(ratios) ? ratios[at] == 4 : i > 1 and i % 2 == 1)
heavy   = inside and (given(types) ? types[at] == "heavily_compressed_attention" : given(ratios) ? ratios[at] == 128 : i < 2 or i % 2 == 0)
fine    = .compress_rate_csa ?? .compress_rates.compressed_sparse_attention
coarse  = .compress_rate_hca ?? .compress_rates.heavily_compressed_attention
q       = .q_lora_rank
n       = .hc_mult                   # streams of the residual
id      = .index_head_dim
experts = .num_local_experts // .n_routed_experts
inner   = .intermediate_size ?? .moe_intermediate_size
mtp     = .num_nextn_predict_layers
mixer:
  # One vector is key and value of all heads. Norms: of q's latent and of kv; biases: a sink for each head.
  compressed_attention heads heads, dim dim, q q, window .sliding_window, groups .o_groups, o .o_lora_rank,
                       norm q + dim, bias heads  if not sparse and not heavy
  # Sparse: blocks overlap, so that both matrices have two halves; a bias for each place in a block.
  compressed_attention heads heads, dim dim, q q, window .sliding_window, groups .o_groups, o .o_lora_rank,
                       ratio fine, overlap, best .index_topk, norm q + 2*dim, bias heads + 2*fine*dim  if sparse
  indexer heads .index_n_heads, dim id, q q, ratio fine, key_width 2*id, key_gate, fused_sum,
          norm id, bias 2*fine*id  if sparse
  compressed_attention heads heads, dim dim, q q, window .sliding_window, groups .o_groups, o .o_lora_rank,
                       ratio coarse, norm q + 2*dim, bias heads + coarse*dim  if heavy
# Routers by hash multiply their gate too: it weighs the experts that the token's word chose.
feed: experts of experts, top .num_experts_per_tok, inner inner, shared inner, bias .mlp_bias * (2*inner + h)
into_mixer: hyper_connections streams n, bias (2 + n)*n + 3
into_feed:  hyper_connections streams n, bias (2 + n)*n + 3
mtp:                                  # the next token's embedding, and all streams of the layer before by one matrix
  linear in h, out h, as mtp e_proj, from x, split replicated
  linear in h, out h, as mtp h_proj, from x, split replicated, rows n
after: stream_head streams n, bias n + 1
require kv == 1: .num_key_value_heads must be 1: one vector is key and value of all heads
require .n_shared_experts == 1: .n_shared_experts is not supported; must be 1, as the class has
require not given(types) or size(types) >= layers: .layer_types must name the {layers} layers
require not given(ratios) or size(ratios) >= layers: .compress_ratios must name the {layers} layers
require given(types) or not given(ratios) or ratios[at] == 0 or sparse or heavy: .compress_ratios must be 0, 4 or 128
require not given(.mlp_layer_types) or size(.mlp_layer_types) >= layers: .mlp_layer_types must name the {layers} layers
classes ForCausalLM Model
)page";

}  // namespace floptally::models
