// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char biogpt[] = R"page(
page biogpt : gpt_neox prefix BioGpt
with vocab_size 42384, hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16
with max_position_embeddings 1024, tie_word_embeddings yes
without attention_bias, use_parallel_residual
bias   = 4*h
fused_qkv = no
beside = no
positions = .max_position_embeddings
once:  positions count 2*h        # rows that are never used: positions start at 2
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
