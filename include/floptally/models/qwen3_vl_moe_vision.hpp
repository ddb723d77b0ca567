// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_vl_moe_vision[] = R"page(
page qwen3_vl_moe_vision : qwen3_vl_vision prefix Qwen3VLMoe
)page";

}  // namespace floptally::models
