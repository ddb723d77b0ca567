// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char persimmon[] = R"page(
page persimmon : gpt_neox prefix Persimmon
with vocab_size 262144, hidden_size 4096, intermediate_size 16384, num_hidden_layers 36, qk_layernorm yes
without attention_bias, use_parallel_residual
bias   = 4*h
beside = no
more:  norm count 4*dim  if .qk_layernorm
class ForCausalLM: head out v, words
class Model:
class ForSequenceClassification: head out labels
class ForTokenClassification: head out labels, bias .token_classification_bias
)page";

}  // namespace floptally::models
