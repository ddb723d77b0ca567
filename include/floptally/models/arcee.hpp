// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char arcee[] = R"page(
page arcee : llama prefix Arcee
with hidden_size 2560, intermediate_size 18432
feed:  mlp inner f, bias .mlp_bias * (f + h)
)page";

}  // namespace floptally::models
