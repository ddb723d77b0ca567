// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4v_moe[] = R"page(
page glm4v_moe : glm4v prefix Glm4vMoe
inner text .text_config: glm4v_moe_text, always
)page";

}  // namespace floptally::models
