// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char roformer[] = R"page(
page roformer : roberta prefix RoFormer
with vocab_size 50000, embedding_size number?, max_position_embeddings 1536
with summary_type "first" of first last mean cls_index, summary_use_proj no, summary_proj_to_labels no
embedding = .embedding_size ?? h
first_norm = 0
positions = .type_vocab_size
once:
  norm count 2 * embedding
  linear in embedding, out h, as embedding.projection, bias h, split replicated  if embedding != h
  positions count .max_position_embeddings * dim          # sines and cosines: a table that training leaves as it is
class ForMaskedLM:
  head out embedding, bias, norm 2
  head in embedding, out v, bias, untied_twice, words
class ForCausalLM:
  head out embedding, bias, norm 2
  head in embedding, out v, bias, untied_twice, words
class Model:
classes ForSequenceClassification
class ForMultipleChoice:
  head out h, bias, per_sequence  if .summary_use_proj
  head out 1, bias, per_sequence
classes ForTokenClassification ForQuestionAnswering
require not .summary_proj_to_labels: .summary_proj_to_labels is not supported; must be false or absent
)page";

}  // namespace floptally::models
