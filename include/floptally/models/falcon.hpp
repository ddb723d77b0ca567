// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char falcon[] = R"page(
page falcon : gpt_neox prefix Falcon
with vocab_size 65024, hidden_size 4544, n_embed number absent, num_hidden_layers 32, num_attention_heads 71
with ffn_hidden_size number?, tie_word_embeddings yes, bias no, multi_query yes, num_kv_heads number?
with new_decoder_architecture no?, parallel_attn yes, num_ln_in_parallel_attn number?
without intermediate_size, attention_bias, use_parallel_residual
h      = .hidden_size // .n_embed
f      = .ffn_hidden_size ?? 4*h
newer  = .new_decoder_architecture ?? no
groups = .num_kv_heads ?? heads
kv     = newer ? groups : .multi_query ? 1 : heads
norms  = 0
beside = .parallel_attn
two    = not .parallel_attn or (.num_ln_in_parallel_attn ?? newer + 1) == 2
bias   = .bias ? (heads + 2*kv) * dim + h : 0
feed:  mlp inner f, bias .bias * (f + h)
more:  norm count two ? 4*h : 2*h    # attention and MLP side by side may share one
require newer or .multi_query or groups == heads: .num_kv_heads must be {heads} without multi_query: one for each head
require heads % kv == 0: .num_kv_heads must divide num_attention_heads ({heads})
require (.n_embed ?? h) == h: .n_embed must be hidden_size ({h})
)page";

}  // namespace floptally::models
