// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char idefics2_vision[] = R"page(
page idefics2_vision : base.tower prefix Idefics2
with hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12, image_size 224, patch_size 32
with num_channels 3
bias   = 4*h
side   = .image_size / .patch_size
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count side*side * h
class VisionTransformer:
require side > 0: .image_size must be at least patch_size
)page";

}  // namespace floptally::models
