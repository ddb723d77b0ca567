// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char big_bird[] = R"page(
page big_bird : bert prefix BigBird
with vocab_size 50358, max_position_embeddings 4096, use_bias yes, attention_type text absent
with block_size any?, num_random_blocks any?      # of its sparse attention
bias   = .use_bias * 3*h + h
# The pooler is there also where no head looks at it.
class ForMaskedLM:
  head out h, bias, per_sequence, detached
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
class ForCausalLM:
  head out h, bias, per_sequence, detached
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
classes ForPreTraining Model
class ForSequenceClassification:
  head out h, bias, per_sequence, detached
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
classes ForMultipleChoice
class ForTokenClassification:
  head out h, bias, per_sequence, detached
  head out labels, bias
class ForQuestionAnswering:
  head out f, bias
  head in f, out h, bias, norm 2
  head out 2, bias
require .attention_type == "original_full": .attention_type must be "original_full": the random blocks of "block_sparse" are not followed
)page";

}  // namespace floptally::models
