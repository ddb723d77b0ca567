// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char idefics3_vision[] = R"page(
page idefics3_vision : idefics2_vision prefix Idefics3
with hidden_size 1152, num_attention_heads 16
rows   = side
)page";

}  // namespace floptally::models
