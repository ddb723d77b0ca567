// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen4_exp_vision[] = R"page(
page qwen4_exp_vision : qwen3_5_vision prefix Qwen4Exp
)page";

}  // namespace floptally::models
