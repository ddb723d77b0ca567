// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char tipsv2_vision_model[] = R"page(
page tipsv2_vision_model : dinov2_with_registers prefix Tipsv2
with image_size 448 or list, patch_size 14 or list, num_register_tokens 1
class VisionModel:
)page";

}  // namespace floptally::models
