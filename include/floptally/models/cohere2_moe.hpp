// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cohere2_moe[] = R"page(
# The dense layers stand first, with a pattern of windows of their own.
page cohere2_moe : cohere2 prefix Cohere2Moe
with head_dim 128, num_experts 8, num_experts_per_tok 2, num_shared_experts 0
with first_k_dense_replace 0, mlp_layer_types list? each of dense sparse
with prefix_dense_intermediate_size number?, prefix_dense_sliding_window_pattern 1
dense  = .first_k_dense_replace
later  = i - dense
full   = i < dense ? (i + 1) % .prefix_dense_sliding_window_pattern == 0 : (later + 1) % .sliding_window_pattern == 0
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : not full
sparse = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= dense
feed:
  experts of .num_experts, top .num_experts_per_tok, inner f, shared .num_shared_experts * f  if sparse
  gated inner .prefix_dense_intermediate_size ?? f  if not sparse
)page";

}  // namespace floptally::models
