// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4v_moe_vision[] = R"page(
page glm4v_moe_vision : glm4v_vision prefix Glm4vMoe
)page";

}  // namespace floptally::models
