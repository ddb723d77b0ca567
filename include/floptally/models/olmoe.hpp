// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char olmoe[] = R"page(
page olmoe : olmo2 prefix Olmoe
with hidden_size 2048, intermediate_size 2048, num_hidden_layers 16, num_attention_heads 16
with num_experts 64, num_experts_per_tok 8
feed:  experts of .num_local_experts // .num_experts, top .num_experts_per_tok, inner f
require not given(.head_dim) or heads * dim == h: .head_dim must make heads that are together as wide as hidden_size ({h}), makes {heads} of {dim}
require heads * dim == h: .num_attention_heads must make heads that are together as wide as hidden_size ({h}), makes {heads} of {dim}
classes ForCausalLM Model
)page";

}  // namespace floptally::models
