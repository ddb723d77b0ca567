// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char rembert[] = R"page(
page rembert : roberta prefix RemBert
with vocab_size 250300, hidden_size 1152, intermediate_size 4608, num_hidden_layers 32, num_attention_heads 18
with input_embedding_size 256, output_embedding_size 1664, tie_word_embeddings no
embedding = .input_embedding_size
first_norm = 0
once:
  norm count 2 * embedding
  linear in embedding, out h, as embedding.projection, bias h, split replicated
class ForMaskedLM:
  head out .output_embedding_size, bias, norm 2
  head in .output_embedding_size, out v, bias, words
class ForCausalLM:
  head out .output_embedding_size, bias, norm 2
  head in .output_embedding_size, out v, bias, words
classes Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
require not .tie_word_embeddings: .tie_word_embeddings is not supported; must be false or absent
)page";

}  // namespace floptally::models
