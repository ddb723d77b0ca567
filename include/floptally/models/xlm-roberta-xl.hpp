// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char xlm_roberta_xl[] = R"page(
page xlm-roberta-xl : roberta prefix XLMRobertaXL
with vocab_size 250880, hidden_size 2560, intermediate_size 10240, num_hidden_layers 36, num_attention_heads 32
with max_position_embeddings 514, type_vocab_size 1
first_norm = 0            # norms stand before each part, so one after the last layer
final_norm = 2*h
)page";

}  // namespace floptally::models
