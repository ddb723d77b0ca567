// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ernie4_5_moe[] = R"page(
page ernie4_5_moe : llama prefix Ernie4_5_Moe
with vocab_size 103424, hidden_size 2560, intermediate_size 12288, num_hidden_layers 28, num_attention_heads 20
with num_key_value_heads 4, head_dim number absent, tie_word_embeddings yes, use_bias no
with moe_num_experts 64, moe_k 6, moe_intermediate_size 1536, moe_num_shared_experts 2 from 0
with moe_layer_interval 1 to 10000, moe_layer_start_index 1 from 0 to 10000, moe_layer_end_index -1 from -1 to 10000
without attention_bias, mlp_bias
divides = no
bias    = .use_bias ? (heads + 2*kv) * dim + h : 0
experts = .num_experts // .moe_num_experts
inner   = .moe_intermediate_size
shared  = .moe_num_shared_experts * inner
last    = .moe_layer_end_index == -1 ? layers : .moe_layer_end_index       # of the layers with experts
sparse  = (i + 1) % .moe_layer_interval == 0 and i >= .moe_layer_start_index and i <= last
feed:
  experts of experts, top .num_experts_per_tok // .moe_k, inner inner, shared shared,
          bias experts + (.use_bias and shared > 0 ? 2*shared + h : 0)  if sparse
  gated inner f, bias .use_bias * (2*f + h)  if not sparse
class ForCausalLM: head out v, bias .use_bias, words
class Model:
)page";

}  // namespace floptally::models
