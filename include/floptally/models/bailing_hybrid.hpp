// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char bailing_hybrid[] = R"page(
page bailing_hybrid : deepseek_v3 prefix BailingHybrid
with vocab_size 157184, hidden_size 2560, intermediate_size 6144, num_hidden_layers 42, num_attention_heads 32
with num_key_value_heads 32?, q_lora_rank null, head_dim number absent
with linear_num_heads number absent, linear_head_dim 128, linear_conv_kernel_dim 4
with layer_types list? each of full_attention attention linear_attention mamba, layer_group_size 6 to 10000
with mlp_layer_types list? each of dense sparse
with num_experts 512, num_experts_per_token 8, moe_intermediate_size 768, num_shared_experts 1 from 0
with first_k_dense_replace 2
without n_routed_experts
type   = .layer_types[i]
full   = given(type) ? type == "full_attention" or type == "attention" : (i + 1) % .layer_group_size == 0
experts = .num_local_experts // .num_experts
shared = .n_shared_experts // .num_shared_experts * inner
sparse = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= .first_k_dense_replace
mtp    = .num_mtp_layers // .num_nextn_predict_layers
# Kimi delta attention: heads, their dim, the kernel of its convolutions
n      = .linear_num_heads ?? heads
d      = .linear_head_dim // .head_dim
kernel = .linear_conv_kernel_dim // .short_conv_kernel_size
mixer:
  mla heads heads, c c, nope .qk_nope_head_dim, rope rope, dim dim, norm c, bias bias  if full
  linear in h, as attention.gate, out heads, split heads heads  if full      # one number a head gates its output
  kda heads n, dim d, kernel kernel, full_output_gate, full_forget_gate, norm d, bias n*d + n  if not full
feed:
  experts of experts, top .num_experts_per_tok // .num_experts_per_token, inner inner, shared shared  if sparse
  gated inner f  if not sparse
require .tie_word_embeddings == no: .tie_word_embeddings is not supported; must be false or absent
classes ForCausalLM Model
)page";

}  // namespace floptally::models
