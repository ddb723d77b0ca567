// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kolibri1[] = R"page(
page kolibri1 : qwen3_moe prefix Kolibri1
with vocab_size 128000, hidden_size 2560, num_hidden_layers 50, num_attention_heads 48, num_key_value_heads 4, head_dim 128
with sliding_window 513?, layer_types list? each of full_attention attention sliding_attention
with num_experts 384, num_experts_per_tok 6, moe_intermediate_size 512, shared_expert_intermediate_size 512
without intermediate_size, use_sliding_window, decoder_sparse_step, mlp_only_layers, attention_bias
bias   = 0
norms  = 4*h                      # before and after each half
named_window = no                 # no flag stands beside the kinds of layers
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % 5 != 0
sees   = slides ? window(.sliding_window) : causal
feed:
  experts of experts, top .num_experts_per_tok, inner .moe_intermediate_size, shared .shared_expert_intermediate_size
require given(.sliding_window) or not slides: .sliding_window must be an integer where layers slide
classes ForCausalLM Model
)page";

}  // namespace floptally::models
