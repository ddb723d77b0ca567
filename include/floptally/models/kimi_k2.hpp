// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kimi_k2[] = R"page(
page kimi_k2 : deepseek_v3
)page";

}  // namespace floptally::models
