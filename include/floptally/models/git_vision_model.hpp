// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char git_vision_model[] = R"page(
page git_vision_model : clip_vision_model prefix Git
with patch_size 16
)page";

}  // namespace floptally::models
