// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char instructblip_vision_model[] = R"page(
page instructblip_vision_model : blip_2_vision_model prefix InstructBlip
)page";

}  // namespace floptally::models
