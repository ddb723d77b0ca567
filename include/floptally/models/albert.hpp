// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char albert[] = R"page(
page albert : roberta prefix Albert
with vocab_size 30000, embedding_size 128, hidden_size 4096, intermediate_size 16384, num_attention_heads 64
with num_hidden_groups 1, inner_group_num 1 to 10000
layers = .num_hidden_layers * .inner_group_num         # each runs all layers of its group
again  = i >= .num_hidden_groups * .inner_group_num    # layers whose weights are counted already
embedding = .embedding_size
norms  = 0
first_norm = 0
mixer:
  gqa heads heads, dim dim, norm 4*h, bias bias, shared_weights again
  mlp inner f, bias f + h, shared_weights again
feed:
once:
  norm count 2 * embedding
  linear in embedding, out h, as embedding.projection, bias h, split replicated
class ForMaskedLM:
  head out embedding, bias, norm 2
  head in embedding, out v, bias, untied_twice, words
class ForPreTraining:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
  head out embedding, bias, norm 2
  head in embedding, out v, bias, untied_twice, words
classes Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
require .num_hidden_groups <= .num_hidden_layers: .num_hidden_groups must be at most num_hidden_layers ({layers})
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
