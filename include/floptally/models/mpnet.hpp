// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mpnet[] = R"page(
page mpnet : roberta prefix MPNet
with vocab_size 30527, relative_attention_num_buckets 32
without type_vocab_size
positions = .max_position_embeddings
once: positions count .relative_attention_num_buckets * heads
classes ForMaskedLM Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
