// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char fnet[] = R"page(
page fnet : bert prefix FNet
with vocab_size 32000, num_attention_heads 1, type_vocab_size 4, use_tpu_fourier_optimizations no?
divides = no
mixer:
once:  linear in h, out h, as embedding.projection, bias h, split replicated
# The pooler runs also where no head looks at it.
class ForMaskedLM:
  head out h, bias, per_sequence, detached
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
classes Model ForSequenceClassification ForMultipleChoice
class ForTokenClassification:
  head out h, bias, per_sequence, detached
  head out labels, bias
class ForQuestionAnswering:
  head out h, bias, per_sequence, detached
  head out labels, bias
classes ForPreTraining ForNextSentencePrediction
note yes: Fourier transforms mix the tokens: no products of matrices, not counted
require not .is_decoder: .is_decoder is not supported; must be false or absent
require not .use_tpu_fourier_optimizations: .use_tpu_fourier_optimizations is not supported; must be false or absent
)page";

}  // namespace floptally::models
