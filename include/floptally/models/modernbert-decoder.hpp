// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char modernbert_decoder[] = R"page(
page modernbert-decoder : modernbert prefix ModernBertDecoder
with sliding_window number absent to 2147483647
without is_decoder, sparse_prediction
fused_qkv = no
sees   = slides ? window(width) : causal
class ForCausalLM:
  head out h, bias .classifier_bias, norm per_norm
  head out v, bias .decoder_bias, words
class Model:
class ForSequenceClassification:
  head out h, bias .classifier_bias, norm per_norm
  head out labels, bias .classifier_bias
)page";

}  // namespace floptally::models
