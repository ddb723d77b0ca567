// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char exaone[] = R"page(
page exaone : base.decoder prefix Exaone
with num_layers number, intermediate_size number?, num_key_value_heads number?, tie_word_embeddings yes
with head_dim any?                # stated, and not read: always h / heads
divides = yes
layers = .num_hidden_layers // .num_layers
kv     = .num_key_value_heads ?? heads
f      = .intermediate_size ?? 4*h
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
