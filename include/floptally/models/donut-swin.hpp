// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char donut_swin[] = R"page(
page donut-swin : swin prefix DonutSwin
norms  = 0
final_norm = 0
class ForImageClassification: head out labels, bias, per_sequence
class Model:
require not .use_absolute_embeddings: .use_absolute_embeddings must be false: the class cannot add them
)page";

}  // namespace floptally::models
