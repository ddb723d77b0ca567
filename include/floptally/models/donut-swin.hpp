// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char donut_swin[] = R"page(
page donut-swin : swin prefix DonutSwin
final_norm = 0
require not .use_absolute_embeddings: .use_absolute_embeddings is not supported; must be false, which is all that the class runs
)page";

}  // namespace floptally::models
