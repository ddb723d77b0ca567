// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ultrabert[] = R"page(
page ultrabert : eurobert prefix Ultrabert
with vocab_size 32000, hidden_size 4096, intermediate_size 11008, num_hidden_layers 32, num_attention_heads 32
with sliding_window 128, layer_types list? each of full_attention attention sliding_attention
with attention_windows list?, prediction_head_size 768, classifier_pooling "cls" of cls mean
without is_decoder
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % 3 != 0
sees   = slides ? around(.sliding_window, .sliding_window) : both
# Two matrices without biases before the words.
class ForMaskedLM:
  head out .prediction_head_size
  head in .prediction_head_size, out h
  head out v, words
class Model:
class ForSequenceClassification: head out labels, bias, per_sequence
class ForTokenClassification: head out labels, bias
class ForQuestionAnswering: head out 2, bias
require not given(.attention_windows): .attention_windows must be absent: write sliding_window and layer_types
)page";

}  // namespace floptally::models
