// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char roberta_prelayernorm[] = R"page(
page roberta-prelayernorm : roberta prefix RobertaPreLayerNorm
final_norm = 2*h          # norms stand before each part
)page";

}  // namespace floptally::models
