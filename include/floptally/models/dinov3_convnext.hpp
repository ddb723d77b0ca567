// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char dinov3_convnext[] = R"page(
page dinov3_convnext : convnext prefix DINOv3ConvNext
with patch_size 4?
without layer_scale_init_value
scales = 1
rows   = .image_size[0] / 4
columns = .image_size[1] / 4
stem:  patches channels .num_channels, side 4, width first, norm 2*first, bias first
class Model:
require (.patch_size ?? 4) == 4: .patch_size must be 4 or absent
)page";

}  // namespace floptally::models
