// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mixtral[] = R"page(
page mixtral : mistral prefix Mixtral
with num_experts_per_tok 2, num_local_experts 8, sliding_window number?, layer_types any?
slides = given(.sliding_window)
feed: experts of .num_experts // .num_local_experts, top .num_experts_per_tok, inner f
)page";

}  // namespace floptally::models
