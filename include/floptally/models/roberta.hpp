// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char roberta[] = R"page(
page roberta : bert prefix Roberta
with vocab_size 50265
classes ForMaskedLM Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
class ForCausalLM:
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
class ForCausalLMOfImages: as roberta.of_images

page roberta.of_images : roberta
sees   = causal
norms  = 6*h
cross: cross heads heads, dim dim, bias bias
class ForCausalLMOfImages:
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
)page";

}  // namespace floptally::models
