// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glmga[] = R"page(
page glmga : glm46v
)page";

}  // namespace floptally::models
