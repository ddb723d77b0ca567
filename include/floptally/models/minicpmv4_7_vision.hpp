// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minicpmv4_7_vision[] = R"page(
page minicpmv4_7_vision : minicpmv4_6_vision prefix MiniCPMV4_7
)page";

}  // namespace floptally::models
