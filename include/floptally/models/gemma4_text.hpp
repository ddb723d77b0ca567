// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4_text[] = R"page(
page gemma4_text : gemma3n_text prefix Gemma4
with vocab_size 262144, hidden_size 2304, intermediate_size 9216, num_hidden_layers 30, num_key_value_heads 4
with num_kv_shared_layers 0, global_head_dim 512, num_global_key_value_heads number?, attention_k_eq_v no
with per_layer_config object?
with use_double_wide_mlp no, enable_moe_block no
with num_experts number?, top_k_experts number?, moe_intermediate_size number?
without altup_num_inputs, laurel_rank
honours_per_layer_config = yes
divides = no
period = 6
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % period != 0 and i + 1 < layers
# Full layers have heads of another size, and one projection where keys serve as values.
same   = .attention_k_eq_v and not slides
layer  = .per_layer_config                         # of a saved config: the sizes of each layer
wide   = slides ? .head_dim : .global_head_dim
groups = same ? .num_global_key_value_heads ?? .num_key_value_heads : .num_key_value_heads
dim    = given(layer) ? of_layer(layer, i, "head_dim", "num_key_value_heads") ?? .head_dim : wide
kv     = given(layer) ? of_layer(layer, i, "num_key_value_heads", "head_dim") ?? .num_key_value_heads : groups
kvs    = i < own ? (same ? 1 : 2) : 0
f      = .use_double_wide_mlp and i >= own ? 2 * .intermediate_size : .intermediate_size
feed:
  gated inner f
  # Three norms, the router's scale of each channel and of each expert.
  experts of .num_experts, top .top_k_experts, inner .moe_intermediate_size, norm 4*h + .num_experts  if .enable_moe_block
more:
  linear in h, as per_layer_input, out p, applied 2  if p > 0
  norm count h  if p > 0
once:
  linear in h, as per_layer_input, out p*layers  if p > 0
  table count .vocab_size_per_layer_input * p * layers  if p > 0
  norm count p  if p > 0
require i + 1 < layers or not slides: .layer_types must be "full_attention", as the last layer is
require not .enable_moe_block or given(.num_experts): .num_experts must be a number with enable_moe_block
require not .enable_moe_block or given(.top_k_experts): .top_k_experts must be a number with enable_moe_block
require not .enable_moe_block or given(.moe_intermediate_size): .moe_intermediate_size must be a number with enable_moe_block
classes ForCausalLM TextModel
)page";

}  // namespace floptally::models
