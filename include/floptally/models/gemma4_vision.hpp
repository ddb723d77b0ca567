// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4_vision[] = R"page(
page gemma4_vision : base.tower prefix Gemma4
with hidden_size 768, intermediate_size 3072, num_hidden_layers 16, num_attention_heads 12, num_key_value_heads 12, head_dim 64
with patch_size 16, position_embedding_size 10240, pooling_kernel_size 3
divides = no
side   = .pooling_kernel_size     # of the squares that gemma4 makes tokens of
kv     = .num_key_value_heads
dim    = .head_dim
norms  = 4*h
qk_norm = 2*dim
final_norm = 0
stem:
  patches channels 3, side .patch_size
  positions count 2 * .position_embedding_size * h        # of rows and of columns
feed:  gated inner f
class VisionModel:
)page";

}  // namespace floptally::models
