// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char internlm3[] = R"page(
# Runs Llama's classes; a file may name either, and each spells the switches of the biases in its own way.
page internlm3 : base.decoder
with vocab_size 128512, hidden_size 4096, intermediate_size 10240, num_hidden_layers 48, num_attention_heads 32
with num_key_value_heads 2?, head_dim 128?, qkv_bias no, attention_bias no, bias no, mlp_bias no
kv     = .num_key_value_heads ?? heads
dim    = .head_dim ?? h / heads
divides = yes
biased = .qkv_bias // .attention_bias
bias   = biased ? (heads + 2*kv) * dim + h : 0
feed:  gated inner f, bias biased * (2*f + h)
require (.bias // .mlp_bias) == biased: .bias must be qkv_bias ({biased})
class InternLM3ForCausalLM: head out v, words
class InternLM3Model:
class LlamaForCausalLM: head out v, words
class LlamaModel:
)page";

}  // namespace floptally::models
