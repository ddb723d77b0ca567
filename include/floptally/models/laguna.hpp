// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char laguna[] = R"page(
page laguna : llama prefix Laguna
with vocab_size 100352, hidden_size 2048, intermediate_size 8192, num_hidden_layers 40, num_attention_heads 48
with num_key_value_heads 8, head_dim 128, num_attention_heads_per_layer list? of numbers
with layer_types list? each of full_attention attention sliding_attention, sliding_window 512?
with gating yes or text
with mlp_layer_types list? each of dense sparse
with num_experts 256, num_experts_per_tok 8, moe_intermediate_size 512, shared_expert_intermediate_size 512 from 0
without mlp_bias
divides = no
heads   = .num_attention_heads_per_layer[i] ?? .num_attention_heads
qk_norm = 2*dim
sees    = .layer_types[i] == "sliding_attention" ? window(.sliding_window) : causal
gate    = .gating == yes or .gating == "per-head" ? heads : heads*dim
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i > 0
mixer:  gqa heads heads, kv kv, dim dim, gate gate, norm qk_norm, bias bias
feed:
  experts of .num_experts, top .num_experts_per_tok, inner .moe_intermediate_size,
          shared .shared_expert_intermediate_size, bias .num_experts  if sparse
  gated inner f  if not sparse
require not is_text(.gating) or .gating == "per-head" or .gating == "per-element": .gating must be true, "per-head", false or "per-element"
require .num_attention_heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({.num_attention_heads})
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
classes ForCausalLM Model
)page";

}  // namespace floptally::models
