// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char bert_generation[] = R"page(
page bert-generation : bert prefix BertGeneration
with vocab_size 50358, hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16
without type_vocab_size
positions = .max_position_embeddings
class Decoder: head out v, bias, untied_twice, words
class Encoder:
)page";

}  // namespace floptally::models
