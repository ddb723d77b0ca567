// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char roc_bert[] = R"page(
page roc_bert : roberta prefix RoCBert
with vocab_size 30522, enable_pronunciation yes, pronunciation_vocab_size 910, pronunciation_embed_dim 768
with enable_shape yes, shape_vocab_size 24858, shape_embed_dim 512, concat_input yes
sound  = .pronunciation_embed_dim
shape  = .shape_embed_dim
inputs = h + .enable_pronunciation * sound + .enable_shape * shape
once:
  table count .pronunciation_vocab_size * sound
  table count .shape_vocab_size * shape
  linear in inputs, out h, as embedding.projection, bias h, split replicated  if .concat_input
classes ForMaskedLM Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
classes ForCausalLM
# One pass over one sequence: the contrastive loss of its pre-training runs the model on two more.
class ForPreTraining:
  head out h, bias, per_sequence, detached
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
)page";

}  // namespace floptally::models
