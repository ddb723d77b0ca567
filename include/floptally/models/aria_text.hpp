// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char aria_text[] = R"page(
page aria_text : llama prefix AriaText
with intermediate_size 4096, moe_num_experts 8, moe_topk 2, moe_num_shared_experts 2 from 0
shared = .moe_num_shared_experts * f
feed:  experts of .moe_num_experts, top .moe_topk, inner f, shared shared,
               bias .mlp_bias ? 2*shared + h : 0
require .moe_topk <= .moe_num_experts: .moe_topk must be at most moe_num_experts
classes ForCausalLM Model
)page";

}  // namespace floptally::models
