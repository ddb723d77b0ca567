// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_next[] = R"page(
page qwen3_next : llama prefix Qwen3Next
with vocab_size 151936, hidden_size 2048, intermediate_size 5632, num_hidden_layers 48,
     num_attention_heads 16, num_key_value_heads 2, head_dim 256, full_attention_interval 4,
     layer_types list? each of full_attention attention linear_attention mamba,
     decoder_sparse_step 1, mlp_only_layers list?,
     linear_num_key_heads 16, linear_num_value_heads 32, linear_key_head_dim 128,
     linear_value_head_dim 128, linear_conv_kernel_dim 4,
     num_experts 512 from 0, num_experts_per_tok 10, moe_intermediate_size 512,
     shared_expert_intermediate_size 512, attn_output_gate flag?, shared_expert_gate flag?,
     num_nextn_predict_layers 1? from 0
without mlp_bias
divides = no
type   = .layer_types[i]
full   = given(type) ? type == "full_attention" or type == "attention" : (i + 1) % .full_attention_interval == 0
sparse = .num_experts > 0 and (i + 1) % .decoder_sparse_step == 0 and not (.mlp_only_layers has i)
values = .linear_num_value_heads
bias   = .attention_bias ? 2*(heads + kv) * dim + h : 0
mtp    = .num_nextn_predict_layers
mixer:
  gqa heads heads, kv kv, dim dim, gate heads*dim, norm 2*dim, bias bias  if full
  delta_net keys .linear_num_key_heads, key_dim .linear_key_head_dim,
            values values, value_dim .linear_value_head_dim, kernel .linear_conv_kernel_dim,
            norm .linear_value_head_dim, bias 2*values  if not full
feed:
  experts of .num_experts, top .num_experts_per_tok, inner .moe_intermediate_size,
          shared .shared_expert_intermediate_size, shared_gate  if sparse
  gated inner f  if not sparse
require values % .linear_num_key_heads == 0: .linear_num_value_heads must be a multiple of linear_num_key_heads ({.linear_num_key_heads})
require .attn_output_gate != no: .attn_output_gate is not supported; must be true or absent
require .shared_expert_gate != no: .shared_expert_gate is not supported; must be true or absent
)page";

}  // namespace floptally::models
