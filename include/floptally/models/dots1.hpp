// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char dots1[] = R"page(
page dots1 : glm4_moe prefix Dots1
with vocab_size 152064, hidden_size 4608, num_hidden_layers 62, num_attention_heads 32, num_key_value_heads 32?
with layer_types list? each of full_attention attention sliding_attention
with sliding_window 4096?, max_window_layers 62 from 0
with n_routed_experts number?, num_experts_per_tok number?, n_shared_experts number? from 0, first_k_dense_replace 0
without use_qk_norm, num_nextn_predict_layers
slides  = given(.layer_types) ? .layer_types[i] == "sliding_attention" : given(.sliding_window) and i >= .max_window_layers
sees    = slides ? window(.sliding_window) : causal
bias    = .attention_bias ? (heads + 2*kv) * dim + h : 0
qk_norm = 2*dim
mtp     = null
require not sparse or given(experts): .n_routed_experts must be a number where layers have experts
require not sparse or given(.num_experts_per_tok): .num_experts_per_tok must be a number where layers have experts
require not sparse or given(.n_shared_experts): .n_shared_experts must be a number where layers have experts
)page";

}  // namespace floptally::models
