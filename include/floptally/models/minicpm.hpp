// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minicpm[] = R"page(
page minicpm : base.decoder prefix MiniCPM
with intermediate_size 11008, num_key_value_heads number?, attention_bias no, tie_word_embeddings yes
divides = yes
kv     = .num_key_value_heads ?? heads
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
