// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char exaone4_5[] = R"page(
page exaone4_5 : base.composite prefix Exaone4_5_
inner text .text_config: exaone4, older exaone4_5_text
inner vision .vision_config: exaone4_5_vision, always
)page";

}  // namespace floptally::models
