// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_5_moe[] = R"page(
page qwen3_5_moe : qwen3_5 prefix Qwen3_5Moe
inner text .text_config: qwen3_5_moe_text
)page";

}  // namespace floptally::models
