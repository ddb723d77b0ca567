// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char longcat_flash[] = R"page(
page longcat_flash : deepseek_v3 prefix LongcatFlash
with vocab_size 131072, hidden_size 6144, ffn_hidden_size 12288, num_attention_heads 64
with num_layers 28, num_hidden_layers number absent from 2
with q_lora_rank 1536, qk_head_dim number?, n_routed_experts 512, moe_topk 12, expert_ffn_hidden_size 2048
with zero_expert_num 256 from 0, router_bias no?
without n_shared_experts, first_k_dense_replace, moe_layer_freq, num_nextn_predict_layers
# Each layer is two attentions and two dense MLPs, with experts beside them; num_hidden_layers counts attentions.
layers  = given(.num_hidden_layers) ? .num_hidden_layers / 2 : .num_layers
f       = .intermediate_size // .ffn_hidden_size
experts = .num_local_experts // .n_routed_experts
zero    = .zero_expert_num
norms   = 4*h
mtp     = null
no_mtp  = "whose layer of multi-token prediction is none of the kinds that the model has"
mixer: mla heads heads, q q, c c, nope .qk_nope_head_dim, rope rope, dim dim, norm q + c, bias bias, times 2
feed:
  experts of experts, top .num_experts_per_tok // .moe_topk, inner .moe_intermediate_size // .expert_ffn_hidden_size,
          zero zero, bias .router_bias ? experts + zero : 0
  gated inner f, times 2
require .qk_head_dim ?? .qk_nope_head_dim + rope == .qk_nope_head_dim + rope: .qk_head_dim must be the sum of qk_nope_head_dim and qk_rope_head_dim
note zero > 0: tokens choose among {zero} identity experts too: counted as if all their choices were real experts, an upper bound that the data stay below
classes ForCausalLM Model
)page";

}  // namespace floptally::models
