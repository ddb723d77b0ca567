// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char xglm[] = R"page(
page xglm : gpt_neox prefix XGLM
with vocab_size 256008, d_model 1024, ffn_dim 4096, num_layers 24, attention_heads 16, tie_word_embeddings yes
without intermediate_size, attention_bias, use_parallel_residual
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .num_layers
heads  = .num_attention_heads // .attention_heads
f      = .ffn_dim
bias   = 4*h
fused_qkv = no
beside = no
classes ForCausalLM Model
)page";

}  // namespace floptally::models
