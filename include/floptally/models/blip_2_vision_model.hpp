// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char blip_2_vision_model[] = R"page(
page blip_2_vision_model : base.tower prefix Blip2
with hidden_size 1408, intermediate_size 6144, num_hidden_layers 39, num_attention_heads 16, image_size 224, patch_size 14
with qkv_bias yes
bias   = .qkv_bias * 3*h + h
class_tokens = 1
rows   = .image_size / .patch_size
mixer: gqa heads heads, dim dim, bias bias, fused
stem:
  patches channels 3, side .patch_size, bias h
  positions count (rows*rows + 2) * h
class VisionModel:
)page";

}  // namespace floptally::models
