// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ernie[] = R"page(
page ernie : roberta prefix Ernie
with vocab_size 30522, use_task_id no, task_type_vocab_size 3
once: positions count .task_type_vocab_size * h  if .use_task_id
classes ForMaskedLM Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
classes ForCausalLM ForPreTraining ForNextSentencePrediction
)page";

}  // namespace floptally::models
