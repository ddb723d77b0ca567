// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char jamba[] = R"page(
page jamba : llama prefix Jamba
with vocab_size 65536, intermediate_size 14336, num_key_value_heads 8, head_dim number absent
with attn_layer_period 8, attn_layer_offset 4 from 0, expert_layer_period 2, expert_layer_offset 1 from 0
with num_experts 16 from 0, num_experts_per_tok 2
with mamba_expand 2, mamba_d_state 16, mamba_d_conv 4, mamba_dt_rank number or text absent
with mamba_proj_bias no, mamba_conv_bias yes
with layer_types null, layers_block_type null, layers_num_experts null
without attention_bias, mlp_bias
divides = no
bias   = 0
full   = i % .attn_layer_period == .attn_layer_offset
experts = .num_local_experts // .num_experts
sparse = experts > 1 and i % .expert_layer_period == .expert_layer_offset
inner  = .mamba_expand * h
s      = .mamba_d_state
dt     = is_number(.mamba_dt_rank) ? .mamba_dt_rank : ceil(h, 16)
mixer:
  gqa heads heads, kv kv, dim dim  if full
  mamba inner inner, state s, dt dt, kernel .mamba_d_conv, norm dt + 2*s,
        bias inner * (s + 2) + .mamba_conv_bias * inner + .mamba_proj_bias * (2*inner + h)  if not full
feed:
  experts of experts, top .num_experts_per_tok, inner f  if sparse
  gated inner f  if not sparse
require .attn_layer_offset < .attn_layer_period: .attn_layer_offset must be less than attn_layer_period ({.attn_layer_period})
require .expert_layer_offset < .expert_layer_period: .expert_layer_offset must be less than expert_layer_period ({.expert_layer_period})
require not is_text(.mamba_dt_rank) or .mamba_dt_rank == "auto": .mamba_dt_rank must be an integer or "auto"
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
