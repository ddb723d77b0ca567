// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char openai_gpt[] = R"page(
page openai-gpt : gpt2 prefix OpenAIGPT
with vocab_size 40478, n_positions 512
without n_inner
f      = 4*h
final_norm = 0
classes LMHeadModel Model ForSequenceClassification DoubleHeadsModel
)page";

}  // namespace floptally::models
