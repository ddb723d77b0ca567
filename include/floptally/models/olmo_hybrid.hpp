// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char olmo_hybrid[] = R"page(
page olmo_hybrid : llama prefix OlmoHybrid
with vocab_size 100352, hidden_size 3840, num_attention_heads 30, head_dim number absent
with layer_types list? each of full_attention attention linear_attention mamba
with linear_num_key_heads number?, linear_num_value_heads number?, linear_key_head_dim number?, linear_value_head_dim number?
with linear_conv_kernel_dim 4
without mlp_bias
divides = no
type    = .layer_types[i]
full    = given(type) ? type == "full_attention" or type == "attention" : (i + 1) % 4 == 0 or i + 1 == layers and layers < 4
qk_norm = (heads + kv) * dim
keys      = .linear_num_key_heads ?? heads
values    = .linear_num_value_heads ?? heads
key_dim   = .linear_key_head_dim ?? 3*h / (4*keys)
value_dim = .linear_value_head_dim ?? 2*key_dim
mixer:
  gqa heads heads, kv kv, dim dim, norm qk_norm, bias bias  if full
  delta_net keys keys, key_dim key_dim, values values, value_dim value_dim, kernel .linear_conv_kernel_dim,
            norm value_dim, bias 2*values  if not full
feed:  gated inner f
listed = times(.layer_types, "full_attention") + times(.layer_types, "attention")
fulls  = given(.layer_types) ? listed : 1
require given(.layer_types) or layers > 1: .num_hidden_layers must give at least one layer of full and one of linear attention
require fulls > 0 and fulls < layers: .layer_types must give at least one layer of full and one of linear attention
require values % keys == 0: .linear_num_value_heads must be a multiple of linear_num_key_heads
classes ForCausalLM Model
)page";

}  // namespace floptally::models
