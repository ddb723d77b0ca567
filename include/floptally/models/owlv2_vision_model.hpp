// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char owlv2_vision_model[] = R"page(
page owlv2_vision_model : owlvit_vision_model prefix Owlv2
with patch_size 16
)page";

}  // namespace floptally::models
