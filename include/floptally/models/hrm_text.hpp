// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hrm_text[] = R"page(
page hrm_text : llama prefix HrmText
with vocab_size 151808, hidden_size 1536, intermediate_size 4096, num_hidden_layers 16, num_attention_heads 12, head_dim 128
with H_cycles 2 to 1000, L_cycles 3 to 1000, L_bp_cycles list? of numbers, prefix_lm yes, num_layers_per_stack number?
without num_key_value_heads
divides = no
kv     = heads
n      = .num_layers_per_stack ?? .num_hidden_layers       # of a stack; a saved config states all runs of them
layers = 2*n
high   = i >= n
# Every cycle runs the low stack L_cycles times and the high one once; of the low runs, the last few have a backward.
last   = given(.L_bp_cycles) ? sum(.L_bp_cycles) : 2
said   = given(.L_bp_cycles) ? size(.L_bp_cycles) : 1
taught = high ? .H_cycles : last + .H_cycles - said
blind  = high ? 0 : .H_cycles * .L_cycles - taught
norms  = 0                        # none has weights
final_norm = 0
bias   = .attention_bias ? 4*heads*dim + h : 0
mixer:
  gqa heads heads, kv kv, dim dim, gate heads*dim, bias bias
  gqa heads heads, kv kv, dim dim, gate heads*dim, times taught - 1, shared_weights     if taught > 1
  gqa heads heads, kv kv, dim dim, gate heads*dim, times blind, shared_weights, detached  if blind > 0
feed:
  gated inner f, bias .mlp_bias * (2*f + h)
  gated inner f, times taught - 1, shared_weights     if taught > 1
  gated inner f, times blind, shared_weights, detached  if blind > 0
once:  norm count h               # the state that the low stack begins with
require said <= .H_cycles: .L_bp_cycles must have at most a number for each of the {.H_cycles} cycles
require not given(.L_bp_cycles) or largest(.L_bp_cycles) <= .L_cycles: .L_bp_cycles must be at most L_cycles ({.L_cycles})
require given(.L_bp_cycles) or .L_cycles >= 2: .L_bp_cycles must be given where L_cycles is below 2
note .prefix_lm: an instruction whose tokens see each other (token_type_ids) is counted as causal
classes ForCausalLM Model
)page";

}  // namespace floptally::models
