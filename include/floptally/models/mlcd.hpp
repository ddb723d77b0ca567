// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mlcd[] = R"page(
page mlcd : mlcd_vision_model prefix MLCD
)page";

}  // namespace floptally::models
