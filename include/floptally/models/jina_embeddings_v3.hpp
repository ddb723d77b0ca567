// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char jina_embeddings_v3[] = R"page(
page jina_embeddings_v3 : bert prefix JinaEmbeddingsV3
with vocab_size 250002, hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16
with head_dim number absent, type_vocab_size 1
without max_position_embeddings
dim    = .head_dim ?? h / heads
divides = no
bias   = 3 * heads*dim + h
positions = .type_vocab_size
classes ForMaskedLM Model ForSequenceClassification ForTokenClassification ForQuestionAnswering
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
