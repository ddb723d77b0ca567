// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char dbrx[] = R"page(
page dbrx : base.decoder prefix Dbrx
with vocab_size 32000, d_model 2048, n_layers 24, n_heads 16, attn_config object?, attn_config.kv_n_heads 1
with ffn_config object?, ffn_config.moe_num_experts 4, ffn_config.moe_top_k 1, ffn_config.ffn_hidden_size 3584
with num_key_value_heads any?     # follows from attn_config
without intermediate_size
divides = yes
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .n_layers
heads  = .num_attention_heads // .n_heads
kv     = .attn_config.kv_n_heads
fused_qkv = yes
feed:  experts of .ffn_config.moe_num_experts, top .ffn_config.moe_top_k, inner .ffn_config.ffn_hidden_size
require heads % kv == 0: .attn_config.kv_n_heads must divide n_heads ({heads})
require .ffn_config.moe_top_k <= .ffn_config.moe_num_experts: .ffn_config.moe_top_k must be at most moe_num_experts ({.ffn_config.moe_num_experts})
require not .tie_word_embeddings: .tie_word_embeddings is not supported; must be false or absent
classes ForCausalLM Model
)page";

}  // namespace floptally::models
