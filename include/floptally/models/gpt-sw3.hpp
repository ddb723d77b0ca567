// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gpt_sw3[] = R"page(
page gpt-sw3 : gpt2
)page";

}  // namespace floptally::models
