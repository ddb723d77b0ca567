// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char bamba[] = R"page(
page bamba : llama prefix Bamba
with vocab_size 128000, intermediate_size 14336, num_key_value_heads 8?, head_dim number absent, attn_layer_indices list?
with mamba_expand 2, mamba_d_state 256, mamba_d_conv 4, mamba_n_heads 128, mamba_d_head number or text absent
with mamba_n_groups 1, mamba_proj_bias no, mamba_conv_bias yes, mamba_chunk_size any?
with layer_types null, layers_block_type null, layers_num_experts null
divides = no
full   = .attn_layer_indices has i
inner  = .mamba_expand * h
p      = .mamba_n_heads
d      = is_number(.mamba_d_head) ? .mamba_d_head : inner / p
g      = .mamba_n_groups
s      = .mamba_d_state
conv   = inner + 2*g*s                             # channels of the convolution: x, B and C
mixer:
  gqa heads heads, kv kv, dim dim, bias bias  if full
  mamba2 heads p, dim d, groups g, state s, kernel .mamba_d_conv, norm inner,
         bias 3*p + .mamba_conv_bias * conv + .mamba_proj_bias * (inner + conv + p + h)  if not full
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
require inner % p == 0: .mamba_n_heads must divide the {inner} channels
require d == inner / p: .mamba_d_head must be the width of one of {p} heads of {inner} channels
require p % g == 0: .mamba_n_groups must divide the {p} heads
require not is_text(.mamba_d_head) or .mamba_d_head == "auto": .mamba_d_head must be an integer or "auto"
classes ForCausalLM Model
)page";

}  // namespace floptally::models
