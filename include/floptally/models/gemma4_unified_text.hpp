// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4_unified_text[] = R"page(
page gemma4_unified_text : gemma4_text prefix Gemma4Unified
with sliding_window 1024
without vocab_size_per_layer_input, hidden_size_per_layer_input
without enable_moe_block, num_experts, top_k_experts, moe_intermediate_size
p      = 0                                        # no layer has an input of its own
feed:  gated inner f
)page";

}  // namespace floptally::models
