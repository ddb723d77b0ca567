// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char data2vec_text[] = R"page(
page data2vec-text : roberta prefix Data2VecText
with vocab_size 30522
)page";

}  // namespace floptally::models
