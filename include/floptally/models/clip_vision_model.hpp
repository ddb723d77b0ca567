// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char clip_vision_model[] = R"page(
page clip_vision_model : base.tower prefix CLIP
with hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12, image_size 224, patch_size 32, num_channels 3
with projection_dim any?          # of a class with a projection
bias   = 4*h
first_norm = 2*h
class_tokens = 1
rows   = .image_size / .patch_size
stem:
  patches channels .num_channels, side .patch_size
  positions count (rows*rows + 2) * h
class VisionModel:
)page";

}  // namespace floptally::models
