// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mimo_v2_flash[] = R"page(
page mimo_v2_flash : llama prefix MiMoV2Flash
with vocab_size 152576, intermediate_size 16384, num_hidden_layers 48, num_attention_heads 64, num_key_value_heads 4
with head_dim 192, v_head_dim 128
with layer_types list? each of full_attention attention sliding_attention
with sliding_window 129, sliding_window_size number? from 0 to 2147483646
with mlp_layer_types list? each of dense sparse
with n_routed_experts 256, num_experts_per_tok 8, moe_intermediate_size 2048
without mlp_bias
divides = no
slides  = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i > 0 and (i + 1) % 6 != 0
kv      = (slides ? 2 : 1) * .num_key_value_heads
# sliding_window_size counts the earlier tokens only, without the query itself.
sees    = not slides ? causal : given(.sliding_window_size) ? window(.sliding_window_size + 1) : window(.sliding_window)
q       = heads * dim
k       = kv * dim
val     = kv * .v_head_dim
sinks   = slides ? heads : 0
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i > 0
mixer:
  linear in h, out q,    as attention.qkv, split heads heads
  linear in h, out k,    as attention.qkv, split kv_heads kv
  linear in h, out val,  as attention.qkv, split kv_heads kv
  core heads heads, dim dim, v_dim .v_head_dim
  linear in heads * .v_head_dim, out h, as attention.output, split heads heads
  bias count (.attention_bias ? q + k + val : 0) + sinks
feed:
  experts of .num_local_experts // .n_routed_experts, top .num_experts_per_tok, inner .moe_intermediate_size  if sparse
  gated inner f  if not sparse
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads}), twice in layers with a window
classes ForCausalLM Model
)page";

}  // namespace floptally::models
