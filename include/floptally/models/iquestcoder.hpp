// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char iquestcoder[] = R"page(
# Runs Llama's classes; a file may name either.
page iquestcoder : base.decoder
with vocab_size 76800, hidden_size 5120, intermediate_size 27648, num_hidden_layers 80, num_attention_heads 40
with num_key_value_heads 8?, head_dim 128?, attention_bias no, mlp_bias no, use_sliding_window no?
kv     = .num_key_value_heads ?? heads
dim    = .head_dim ?? h / heads
divides = yes
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
feed:  gated inner f, bias .mlp_bias * (2*f + h)
require not .use_sliding_window: .use_sliding_window is not supported; must be false or absent
class IQuestCoderForCausalLM: head out v, words
class IQuestCoderModel:
class LlamaForCausalLM: head out v, words
class LlamaModel:
)page";

}  // namespace floptally::models
