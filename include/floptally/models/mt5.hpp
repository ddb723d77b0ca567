// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mt5[] = R"page(
page mt5 : t5 prefix MT5
with vocab_size 250112, d_ff 1024, num_layers 8, num_heads 6, feed_forward_proj "gated-gelu"
encoder mt5.encoder
class ForConditionalGeneration: head out v, words
class Model:
class EncoderModel: as mt5.encoder
class ForSequenceClassification:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
class ForTokenClassification: as mt5.encoder
class ForQuestionAnswering: head out labels, bias

page mt5.encoder : t5.encoder prefix MT5
with vocab_size 250112, d_ff 1024, num_layers 8, num_heads 6, feed_forward_proj "gated-gelu"
class EncoderModel:
class ForTokenClassification: head out labels, bias
)page";

}  // namespace floptally::models
