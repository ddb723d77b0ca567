// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char altclip_vision_model[] = R"page(
page altclip_vision_model : clip_vision_model prefix AltCLIP
)page";

}  // namespace floptally::models
