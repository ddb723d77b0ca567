// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char xlm_roberta[] = R"page(
page xlm-roberta : roberta prefix XLMRoberta
with vocab_size 30522
)page";

}  // namespace floptally::models
