// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char nomic_bert[] = R"page(
page nomic_bert : gte prefix NomicBert
with vocab_size 30528, head_dim number?, type_vocab_size 2
bias   = 0
positions = .type_vocab_size
feed:  gated inner f
once:
class ForMaskedLM:
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
classes Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
