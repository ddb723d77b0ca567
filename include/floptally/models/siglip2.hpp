// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char siglip2[] = R"page(
page siglip2 : siglip prefix Siglip2
inner text .text_config: siglip2_text_model
inner vision .vision_config: siglip2_vision_model
)page";

}  // namespace floptally::models
