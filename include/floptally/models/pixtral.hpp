// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pixtral[] = R"page(
page pixtral : base.tower prefix Pixtral
with hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16, image_size 1024, patch_size 16
with num_channels 3, head_dim any?         # said by files; the class takes hidden_size / num_attention_heads
norms  = 2*h
first_norm = h
final_norm = 0
rows   = .image_size / .patch_size
stem:  patches channels .num_channels, side .patch_size
feed:  gated inner f
class VisionModel:
)page";

}  // namespace floptally::models
