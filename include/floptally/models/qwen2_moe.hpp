// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_moe[] = R"page(
page qwen2_moe : qwen3_moe prefix Qwen2Moe
with intermediate_size 5632, num_attention_heads 16, num_key_value_heads 16, qkv_bias yes
with num_experts 60 from 0, num_experts_per_tok 4, moe_intermediate_size 1408, shared_expert_intermediate_size 5632
with sliding_window 4096? from 0, max_window_layers 28 from 0
with layer_types list? each of full_attention attention sliding_attention
without attention_bias
experts = .num_experts
qk_norm = 0
bias   = .qkv_bias * (heads + 2*kv) * dim
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i % 2 == 0 and i < .max_window_layers
sees   = .use_sliding_window and slides ? window(.sliding_window) : causal
require not .use_sliding_window or .sliding_window != 0: .sliding_window must be at least 1
feed:
  experts of experts, top .num_experts_per_tok, inner .moe_intermediate_size,
          shared .shared_expert_intermediate_size, shared_gate  if sparse
  gated inner f  if not sparse
)page";

}  // namespace floptally::models
