// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gpt_neo[] = R"page(
page gpt_neo : gpt_neox prefix GPTNeo
with vocab_size 50257, hidden_size 2048, num_layers 24, num_heads 16, intermediate_size number?, tie_word_embeddings yes
with max_position_embeddings 2048, window_size 256 to 2147483647
with attention_layers list? each of global local, attention_types [[["global", "local"], 12]]
without attention_bias, use_parallel_residual
layers = .num_hidden_layers // .num_layers
heads  = .num_attention_heads // .num_heads
f      = .intermediate_size ?? 4*h
bias   = h                        # of the output alone
fused_qkv = no
beside = no
positions = .max_position_embeddings
kinds  = .attention_layers ?? repeated(.attention_types)
sees   = kinds[i] == "local" ? window(.window_size) : causal
require size(kinds) == layers: .attention_types must be for the {layers} layers of the model, is for {size(kinds)}
require kinds[i] == "global" or kinds[i] == "local": .attention_types must name "global" or "local", not {kinds[i]}
)page";

}  // namespace floptally::models
