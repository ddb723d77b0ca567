// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char bitnet[] = R"page(
page bitnet : llama prefix BitNet
with vocab_size 128256, hidden_size 2560, intermediate_size 6912, num_hidden_layers 30, num_attention_heads 20
with num_key_value_heads 5?
without mlp_bias
more:  norm count h + f           # before the last matrix of the attention, and of the MLP
require heads * dim == h: .head_dim must be hidden_size / num_attention_heads ({h} / {heads})
classes ForCausalLM Model
)page";

}  // namespace floptally::models
