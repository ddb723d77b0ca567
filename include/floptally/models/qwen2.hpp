// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2[] = R"page(
page qwen2 : qwen3 prefix Qwen2
with head_dim number absent
without attention_bias
bias    = (heads + 2*kv) * dim
qk_norm = 0
)page";

}  // namespace floptally::models
