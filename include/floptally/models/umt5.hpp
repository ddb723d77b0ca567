// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char umt5[] = R"page(
page umt5 : mt5 prefix UMT5
encoder umt5.encoder
# Every layer has a table of positions of its own.
mixer:
  gqa heads heads, dim dim
  positions count .relative_attention_num_buckets * heads
class ForConditionalGeneration: head out v, words
class Model:
class EncoderModel: as umt5.encoder
class ForSequenceClassification:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
class ForTokenClassification: as umt5.encoder
class ForQuestionAnswering: head out labels, bias

page umt5.encoder : mt5.encoder prefix UMT5
mixer:
  gqa heads heads, dim dim
  positions count .relative_attention_num_buckets * heads
class EncoderModel:
class ForTokenClassification: head out labels, bias
)page";

}  // namespace floptally::models
