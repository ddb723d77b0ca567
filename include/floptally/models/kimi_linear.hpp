// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kimi_linear[] = R"page(
page kimi_linear : deepseek_v3 prefix KimiLinear
with vocab_size 163840, hidden_size 2304, intermediate_size 9216, num_hidden_layers 27, num_attention_heads 32
with num_key_value_heads 32?, q_lora_rank number?
with layer_types list? each of full_attention attention linear_attention mamba, linear_attn_config object absent
with linear_attn_config.full_attn_layers list? from 1 to 10000 of numbers
with linear_attn_config.kda_layers list? from 1 to 10000 of numbers
with linear_num_heads 32, linear_head_dim 128, linear_conv_kernel_dim 4
with mlp_layer_types list? each of dense sparse
with num_experts 256, num_experts_per_token 8, moe_intermediate_size 1024, num_shared_experts 1 from 0
with first_k_dense_replace 1, num_nextn_predict_layers 0?
without n_routed_experts
# Full attention: layer_types, else two lists that count from 1, else every fourth layer after the first.
fulls  = .linear_attn_config.full_attn_layers
deltas = .linear_attn_config.kda_layers
listed = given(fulls) and given(deltas)
type   = .layer_types[i]
named  = type == "full_attention" or type == "attention"
full   = given(type) ? named : listed ? fulls has i + 1 and not (deltas has i + 1) : i > 0 and i % 4 == 0
experts = .num_local_experts // .num_experts
shared = .n_shared_experts // .num_shared_experts * inner
sparse = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= .first_k_dense_replace
mtp    = .num_nextn_predict_layers
# Kimi delta attention: heads, their dim, the kernel of its convolutions
n      = .linear_attn_config.num_heads // .linear_num_heads
d      = .linear_attn_config.head_dim // .linear_head_dim
kernel = .linear_attn_config.short_conv_kernel_size // .linear_conv_kernel_dim
mixer:
  mla heads heads, q q, c c, nope .qk_nope_head_dim, rope rope, dim dim, norm q + c, bias bias  if full
  kda heads n, dim d, kernel kernel, norm d, bias n*d + n  if not full
feed:
  experts of experts, top .num_experts_per_tok // .num_experts_per_token, inner inner, shared shared  if sparse
  gated inner f  if not sparse
require given(type) or not listed or fulls has i + 1 or deltas has i + 1: .linear_attn_config.kda_layers must name, with full_attn_layers, every layer; {i + 1} is in neither
require .tie_word_embeddings == no: .tie_word_embeddings is not supported; must be false or absent
classes ForCausalLM Model
)page";

}  // namespace floptally::models
