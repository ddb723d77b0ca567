// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char llama[] = R"page(
page llama : base.decoder prefix Llama
with vocab_size 32000, hidden_size 4096, intermediate_size 11008, num_hidden_layers 32, num_attention_heads 32
with num_key_value_heads number?, head_dim number?, attention_bias no, mlp_bias no
kv     = .num_key_value_heads ?? heads
dim    = .head_dim ?? h / heads
divides = yes
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
feed:  gated inner f, bias .mlp_bias * (2*f + h)
)page";

}  // namespace floptally::models
