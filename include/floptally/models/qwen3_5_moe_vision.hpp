// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_5_moe_vision[] = R"page(
page qwen3_5_moe_vision : qwen3_5_vision prefix Qwen3_5Moe
)page";

}  // namespace floptally::models
