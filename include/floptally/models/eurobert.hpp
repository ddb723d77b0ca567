// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char eurobert[] = R"page(
page eurobert : llama prefix EuroBert
with vocab_size 128256, hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12
with is_decoder no, classifier_pooling "late" of late bos mean
sees   = both
late   = .classifier_pooling == "late"     # every token passes the classifier, and logits are averaged
class ForMaskedLM: head out v, bias .mlp_bias, words
class Model:
class ForSequenceClassification:
  head out h, bias  if late
  head out labels, bias  if late
  head out h, bias, per_sequence  if not late
  head out labels, bias, per_sequence  if not late
class ForTokenClassification: head out labels, bias
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
