// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char fnet[] = R"page(
page fnet : bert.pooled prefix FNet
with vocab_size 32000, num_attention_heads 1, type_vocab_size 4, use_tpu_fourier_optimizations no?
divides = no
mixer:
once:  linear in h, out h, as embedding.projection, bias h, split replicated
classes ForMaskedLM Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
classes ForPreTraining ForNextSentencePrediction
note yes: Fourier transforms mix the tokens: no products of matrices, not counted
require not .is_decoder: .is_decoder is not supported; must be false or absent
require not .use_tpu_fourier_optimizations: .use_tpu_fourier_optimizations is not supported; must be false or absent
)page";

}  // namespace floptally::models
