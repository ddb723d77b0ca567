// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen4_exp[] = R"page(
page qwen4_exp : qwen3_5 prefix Qwen4Exp
inner text .text_config: qwen4_exp_text, always
inner vision .vision_config: qwen4_exp_vision, always
)page";

}  // namespace floptally::models
