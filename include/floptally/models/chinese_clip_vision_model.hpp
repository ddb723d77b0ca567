// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char chinese_clip_vision_model[] = R"page(
page chinese_clip_vision_model : clip_vision_model prefix ChineseCLIP
)page";

}  // namespace floptally::models
