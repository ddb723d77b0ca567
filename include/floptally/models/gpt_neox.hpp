// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gpt_neox[] = R"page(
page gpt_neox : base.decoder prefix GPTNeoX
with vocab_size 50432, hidden_size 6144, intermediate_size 24576, num_hidden_layers 44, num_attention_heads 64
with attention_bias yes, use_parallel_residual yes
without token_classification_bias
norms  = 4*h
final_norm = 2*h
mtp_norms = norms + 6*h
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
feed:  mlp inner f, bias f + h
divides = yes
fused_qkv = yes
beside = .use_parallel_residual
)page";

}  // namespace floptally::models
