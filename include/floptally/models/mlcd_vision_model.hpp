// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mlcd_vision_model[] = R"page(
page mlcd_vision_model : clip_vision_model prefix MLCD
with hidden_size 1664, intermediate_size 8192, num_hidden_layers 48, num_attention_heads 16, image_size 336, patch_size 14
with num_key_value_groups any?
without projection_dim
stem:
  patches channels .num_channels, side .patch_size
  positions count h + dim / 2                              # the class token, and its rotation
)page";

}  // namespace floptally::models
