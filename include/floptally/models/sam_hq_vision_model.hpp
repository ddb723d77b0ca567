// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char sam_hq_vision_model[] = R"page(
page sam_hq_vision_model : sam_vision_model prefix SamHQ
)page";

}  // namespace floptally::models
