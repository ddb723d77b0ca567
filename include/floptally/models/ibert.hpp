// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ibert[] = R"page(
page ibert : roberta prefix IBert
with vocab_size 30522, quant_mode no?
classes ForMaskedLM Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
require not .is_decoder: .is_decoder is not supported; must be false or absent
require not .quant_mode: .quant_mode is not supported; must be false or absent
)page";

}  // namespace floptally::models
