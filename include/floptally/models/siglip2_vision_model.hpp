// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char siglip2_vision_model[] = R"page(
page siglip2_vision_model : siglip_vision_model prefix Siglip2
with num_patches 256
without image_size
rows   = null                     # images of any size: the table of positions is resized to each
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count .num_patches * h
)page";

}  // namespace floptally::models
