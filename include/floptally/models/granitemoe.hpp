// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granitemoe[] = R"page(
page granitemoe : granite prefix GraniteMoe
with head_dim number absent, num_local_experts 8, num_experts_per_tok 2
without mlp_bias
feed:  experts of .num_local_experts, top .num_experts_per_tok, inner f
)page";

}  // namespace floptally::models
