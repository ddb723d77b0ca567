// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char instructblipvideo_vision_model[] = R"page(
page instructblipvideo_vision_model : blip_2_vision_model prefix InstructBlipVideo
)page";

}  // namespace floptally::models
