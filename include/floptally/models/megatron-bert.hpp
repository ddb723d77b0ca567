// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char megatron_bert[] = R"page(
page megatron-bert : ernie prefix MegatronBert
with vocab_size 29056, hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16
without use_task_id, task_type_vocab_size
first_norm = 0            # norms stand before each part, so one after the last layer
final_norm = 2*h
once:
)page";

}  // namespace floptally::models
