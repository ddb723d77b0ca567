// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char diffllama[] = R"page(
# Differential attention: the difference of two softmax maps weighs values of two heads together.
page diffllama : llama prefix DiffLlama
with hidden_size 2048, intermediate_size 8192, num_hidden_layers 16
without mlp_bias
divides = no
mixer:
  gqa heads heads, kv kv, dim dim, bias bias
  core heads heads, dim 0, v_dim dim      # the values of the other head of the pair
  bias count 4*dim                        # the vectors of λ
require kv % 2 == 0: .num_key_value_heads must be even, as values go in pairs of heads
)page";

}  // namespace floptally::models
