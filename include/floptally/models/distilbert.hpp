// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char distilbert[] = R"page(
page distilbert : roberta prefix DistilBert
with vocab_size 30522, dim 768, n_layers 6, n_heads 12, hidden_dim 3072
without type_vocab_size, intermediate_size
h      = .hidden_size // .dim
layers = .num_hidden_layers // .n_layers
heads  = .num_attention_heads // .n_heads
f      = .hidden_dim
positions = .max_position_embeddings
class ForMaskedLM:
  head out h, bias, norm 2
  head out v, bias, words
class Model:
classes ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
