// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char doge[] = R"page(
# Each token sees its best keys of those that the mask leaves, chosen by a linear of the values; an expert is two
# vectors, found by the best pairs of 2 * sqrt(experts) keys.
page doge : llama prefix Doge
with vocab_size 32768, hidden_size 1024, intermediate_size 2048, num_attention_heads 8, head_dim number absent
with keep_window_size 2048 to 2147483647, sliding_window number?
with is_moe no, num_experts 16384, num_experts_per_tok 64
divides = no
qk_norm = 2*dim
best   = min(.keep_window_size, .sliding_window ?? .keep_window_size)
keys   = root(.num_experts)
top    = .num_experts_per_tok
mixer:
  gqa heads heads, kv kv, dim dim, norm qk_norm, bias bias, sees top(best)
  linear as attention.keys_kept, in kv*dim, out kv
  bias count .attention_bias ? 2*kv : kv
  norm count 2*h                          # what scales the two residuals
feed:
  gated inner f, bias .mlp_bias * (2*f + h)
  linear as moe.router, in h, out 2*keys, router, split replicated  if .is_moe
  linear as moe.experts, in h, out 1, applied 2*top, stored 2*.num_experts,
         split experts .num_experts, inner 1  if .is_moe
require not .is_moe or top <= keys*keys: .num_experts_per_tok must be at most the {keys*keys} experts that keys find
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
