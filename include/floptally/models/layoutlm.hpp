// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char layoutlm[] = R"page(
page layoutlm : bert.pooled prefix LayoutLM
with max_2d_position_embeddings 1024
without is_decoder
sees   = both
positions = .max_position_embeddings + .type_vocab_size + 4 * .max_2d_position_embeddings      # left, top, height and width of a box
class ForMaskedLM:
  head out h, bias, per_sequence, detached
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
classes Model ForSequenceClassification
class ForTokenClassification:
  head out h, bias, per_sequence, detached
  head out labels, bias
class ForQuestionAnswering:
  head out h, bias, per_sequence, detached
  head out labels, bias
)page";

}  // namespace floptally::models
