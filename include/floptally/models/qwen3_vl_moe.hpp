// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_vl_moe[] = R"page(
page qwen3_vl_moe : qwen3_vl prefix Qwen3VLMoe
inner text .text_config: qwen3_vl_moe_text, always
)page";

}  // namespace floptally::models
