// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char jetmoe[] = R"page(
# Queries and outputs are experts, behind a router; each chosen one brings queries of its own to all key and value
# heads. num_attention_heads decides nothing.
page jetmoe : base.decoder prefix JetMoe
with vocab_size 32000, hidden_size 2048, intermediate_size 5632, num_hidden_layers 12, num_attention_heads 32
with num_key_value_heads 16, kv_channels 128, num_local_experts 8, num_experts_per_tok 2, tie_word_embeddings yes
with num_layers any?, ffn_hidden_size any?, moe_num_experts any?, moe_top_k any?      # older names, which are not read
experts = .num_local_experts
top    = .num_experts_per_tok
kv     = .num_key_value_heads
dim    = .head_dim // .kv_channels
wide   = kv * dim
mixer:
  linear as attention.router, in h, out experts, router, split replicated
  linear as attention.qkv, in h, out wide, applied top, stored experts, split heads kv
  linear as attention.qkv, in h, out wide, applied 2, split kv_heads kv
  core heads kv * top, dim dim
  linear as attention.output, in wide, out h, applied top, stored experts, split heads kv
  bias count h
feed:  experts of experts, top top, inner f, bias h       # one for all experts together
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
