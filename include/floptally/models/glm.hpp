// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm[] = R"page(
page glm : glm4 prefix Glm
norms  = 2*h
)page";

}  // namespace floptally::models
