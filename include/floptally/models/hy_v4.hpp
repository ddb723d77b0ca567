// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hy_v4[] = R"page(
page hy_v4 : deepseek_v32 prefix HYV4
with vocab_size 120832, hidden_size 2816, intermediate_size 6912, moe_intermediate_size 768, num_hidden_layers 34
with num_attention_heads 32, qk_nope_head_dim 192, v_head_dim 256, index_n_heads 16
with layer_types list? each of indexed_attention, indexer_types list? each of full shared, hc_mult 4
without first_k_dense_replace, moe_layer_freq, num_nextn_predict_layers
experts = .num_local_experts // .n_routed_experts
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i > 0
chooses = given(.indexer_types) ? .indexer_types[i] == "full" : i == 0 or i % 4 == 1
kv      = heads                      # whatever num_key_value_heads says
n       = .hc_mult                   # streams of the residual
mtp     = null
mixer:
  # A gate on what was attended; biases: a sink for each head besides.
  mla heads heads, q q, c c, nope .qk_nope_head_dim, rope rope, dim dim, gate heads*dim, norm q + c, bias bias + heads
  indexer heads .index_n_heads, dim .index_head_dim, q q, norm 2*.index_head_dim  if chooses
into_mixer: hyper_connections streams n, unmixed, bias 2*n + 2
into_feed:  hyper_connections streams n, unmixed, bias 2*n + 2
after: stream_head streams n, bias n + 1
require chooses or i > 0: .indexer_types must give the first layer an indexer
classes ForCausalLM Model
)page";

}  // namespace floptally::models
