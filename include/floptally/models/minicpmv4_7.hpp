// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minicpmv4_7[] = R"page(
page minicpmv4_7 : minicpmv4_6 prefix MiniCPMV4_7
inner vision .vision_config: minicpmv4_7_vision, always
)page";

}  // namespace floptally::models
