// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_5_moe_text[] = R"page(
page qwen3_5_moe_text : qwen3_5_text prefix Qwen3_5Moe
with hidden_size 2048, intermediate_size number?, num_hidden_layers 40, num_key_value_heads 2
with num_experts 256, num_experts_per_tok 8, moe_intermediate_size 512, shared_expert_intermediate_size 512
feed:
  experts of .num_experts, top .num_experts_per_tok, inner .moe_intermediate_size,
          shared .shared_expert_intermediate_size, shared_gate
classes ForCausalLM TextModel
)page";

}  // namespace floptally::models
