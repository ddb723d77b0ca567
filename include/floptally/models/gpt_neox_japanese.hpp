// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gpt_neox_japanese[] = R"page(
page gpt_neox_japanese : gpt_neox prefix GPTNeoXJapanese
with vocab_size 32000, hidden_size 2560, num_hidden_layers 32, num_attention_heads 32
with intermediate_multiple_size 4, tie_word_embeddings yes
without intermediate_size, attention_bias, use_parallel_residual
f      = .intermediate_multiple_size * h
bias   = 0
beside = no
feed:  mlp inner f
once:  bias count h               # of the attention's output, in the last layer
classes ForCausalLM Model
)page";

}  // namespace floptally::models
