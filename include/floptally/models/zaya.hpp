// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char zaya[] = R"page(
page zaya : llama prefix Zaya
with vocab_size 262272, hidden_size 2048, intermediate_size number?, num_hidden_layers 40, num_attention_heads 8
with num_key_value_heads 2, head_dim 128, tie_word_embeddings yes, lm_head_bias no
with layer_types list? each of hybrid hybrid_sliding, sliding_window number?, cca_time0 2, cca_time1 2
with num_experts 16, num_experts_per_tok 1, moe_intermediate_size 2048, router_hidden_size 256
without mlp_bias
divides = no
sees   = .layer_types[i] == "hybrid_sliding" ? window(.sliding_window) : causal
q      = heads * dim
k      = kv * dim
c      = q + k                                     # channels that are convolved
# Queries and keys pass two causal convolutions, the first by channel, the second by head; half of the values come
# from the token before. The residual streams have scales and biases of their own.
mixer:
  linear in h, out q, as attention.qkv, split heads heads
  linear in h, out k, applied 2, as attention.qkv, split kv_heads kv
  linear in .cca_time0, out c, no_lora, as mixer.convolution conv1d, split even
  linear in .cca_time1 * dim, out c, as mixer.convolution, split even
  core heads heads, dim dim
  linear in q, out h, as attention.output, split heads heads
  norm count kv + 8*h
  bias count 2*c + (.attention_bias ? c + k + h : 0)
# Beside the experts the router knows one that does nothing; which tokens skip to it depends on the data, so here every
# token visits an expert. From the second layer on, the router's states of the layer before are added with a scale.
r      = .router_hidden_size
n      = .num_experts
feed:
  linear in h, out r, router, as moe.router, split replicated
  linear in r, out r, applied 2, router, as moe.router, split replicated
  linear in r, out n + 1, router, as moe.router, split replicated
  linear in h, out .moe_intermediate_size, applied 3, stored 3*n, as moe.experts,
         split experts n, inner .moe_intermediate_size
  norm count (i == 0 ? 1 : 2) * r
  bias count 3*r
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
once: norm count 2*h
require .num_experts_per_tok == 1: .num_experts_per_tok is not supported; must be 1 or absent
class ForCausalLM: head out v, bias .lm_head_bias, words
class Model:
)page";

}  // namespace floptally::models
