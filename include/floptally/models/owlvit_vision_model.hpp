// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char owlvit_vision_model[] = R"page(
page owlvit_vision_model : clip_vision_model prefix OwlViT
with image_size 768
)page";

}  // namespace floptally::models
