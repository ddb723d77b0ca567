// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granitemoeshared[] = R"page(
page granitemoeshared : granitemoe prefix GraniteMoeShared
with shared_intermediate_size 0
feed:  experts of .num_local_experts, top .num_experts_per_tok, inner f, shared .shared_intermediate_size
)page";

}  // namespace floptally::models
