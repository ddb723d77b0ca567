// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char helium[] = R"page(
page helium : llama prefix Helium
with vocab_size 48000, hidden_size 2560, intermediate_size 7040, num_hidden_layers 24, num_attention_heads 20
with num_key_value_heads 20, head_dim 128
divides = no
bias   = .attention_bias ? (heads + 2*kv) * dim : 0
require heads * dim == h: .head_dim must be hidden_size / num_attention_heads ({h} / {heads})
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
