// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char siglip_vision_model[] = R"page(
page siglip_vision_model : base.tower prefix Siglip
with hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12, image_size 224, patch_size 16
with num_channels 3, vision_use_head yes
bias   = 4*h
rows   = .image_size / .patch_size
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count rows*rows * h
class VisionModel:
  pooling heads heads, inner f, learned h, norm 2*h, bias 5*h + f, detached  if .vision_use_head
)page";

}  // namespace floptally::models
