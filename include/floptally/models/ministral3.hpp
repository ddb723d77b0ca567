// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ministral3[] = R"page(
page ministral3 : mistral prefix Ministral3
with vocab_size 131072, num_hidden_layers 34, head_dim 128, sliding_window number?
without layer_types
slides = given(.sliding_window)
)page";

}  // namespace floptally::models
