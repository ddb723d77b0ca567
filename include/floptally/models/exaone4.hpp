// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char exaone4[] = R"page(
page exaone4 : mistral prefix Exaone4
with vocab_size 102400, intermediate_size 16384, num_key_value_heads 32, head_dim number absent
with sliding_window_pattern 4 or text? from 0      # the letters of one period, in files that have layer_types too
qk_norm = 2*dim
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % .sliding_window_pattern != 0
require given(.layer_types) or is_number(.sliding_window_pattern) and .sliding_window_pattern > 0: .sliding_window_pattern must be an integer of at least 1 where there are no layer_types
)page";

}  // namespace floptally::models
