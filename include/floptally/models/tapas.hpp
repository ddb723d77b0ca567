// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char tapas[] = R"page(
page tapas : bert prefix Tapas
with type_vocab_sizes [3, 256, 256, 2, 256, 256, 10] of numbers, max_position_embeddings 1024
without type_vocab_size
positions = .max_position_embeddings + sum(.type_vocab_sizes)      # segment, column, row, and four ranks of a cell
sees   = both
require not .is_decoder: .is_decoder is not supported; must be false or absent
classes ForMaskedLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
