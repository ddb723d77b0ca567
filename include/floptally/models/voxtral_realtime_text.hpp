// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char voxtral_realtime_text[] = R"page(
page voxtral_realtime_text : mistral prefix VoxtralRealtime
without layer_types
# What scales the input of each feed-forward is made of one number of the step, its delay: no product for each token.
more:
  linear in h, as residual.gate linear_1, out 32, applied 0, stored 1, no_lora
  linear in 32, as residual.gate linear_2, out h, applied 0, stored 1, no_lora
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
