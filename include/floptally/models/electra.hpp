// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char electra[] = R"page(
page electra : roberta prefix Electra
with vocab_size 30522, embedding_size 128, hidden_size 256, intermediate_size 1024, num_attention_heads 4
with summary_type "first" of first last mean cls_index, summary_use_proj yes, summary_proj_to_labels no
embedding = .embedding_size
first_norm = 0
once:
  norm count 2 * embedding
  linear in embedding, out h, as embedding.projection, bias h, split replicated  if embedding != h
# The generator (MaskedLM) and the discriminator (PreTraining: was a token replaced?) are two models of their own.
class ForPreTraining:
  head out h, bias
  head out 1, bias
class ForMaskedLM:
  head out embedding, bias, norm 2
  head in embedding, out v, bias, words
class ForCausalLM:
  head out embedding, bias, norm 2
  head in embedding, out v, bias, words
class Model:
classes ForSequenceClassification
class ForMultipleChoice:
  head out h, bias, per_sequence  if .summary_use_proj
  head out 1, bias, per_sequence
classes ForTokenClassification ForQuestionAnswering
require not .summary_proj_to_labels: .summary_proj_to_labels is not supported; must be false or absent
)page";

}  // namespace floptally::models
