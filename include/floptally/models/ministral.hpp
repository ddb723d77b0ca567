// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ministral[] = R"page(
page ministral : mistral prefix Ministral
)page";

}  // namespace floptally::models
