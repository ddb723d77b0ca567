// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char camembert[] = R"page(
page camembert : roberta prefix Camembert
with vocab_size 30522
)page";

}  // namespace floptally::models
