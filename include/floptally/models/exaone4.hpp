// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char exaone4[] = R"page(
page exaone4 : mistral prefix Exaone4
with vocab_size 102400, intermediate_size 16384, num_key_value_heads 32, head_dim number absent
with sliding_window_pattern 4 or text? from 0      # the letters of one period, in files that have layer_types too
qk_norm = 2*dim
named  = given(.layer_types)
pattern = .sliding_window_pattern
slides = named ? .layer_types[i] == "sliding_attention" : (i + 1) % pattern != 0
require named or is_number(pattern) and pattern > 0: .sliding_window_pattern must be at least 1 without layer_types
)page";

}  // namespace floptally::models
