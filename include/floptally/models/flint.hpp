// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char flint[] = R"page(
page flint : qwen3_moe prefix Flint
with vocab_size 150144, hidden_size 2048, intermediate_size 6144, num_hidden_layers 49, num_attention_heads 32
with num_key_value_heads 4, head_dim 128, sliding_window 513
with layer_types list? each of full_attention attention sliding_attention
with num_experts 256 from 0, num_experts_per_tok 6, moe_intermediate_size 512, shared_expert_intermediate_size 1024
without use_sliding_window
experts = .num_experts
named_window = no                 # no flag stands beside the kinds of layers
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i >= 2 and i % 4 != 1 and i + 1 < layers
sees   = slides ? window(.sliding_window) : causal
sinks  = heads                    # what each head may attend to besides tokens
bias   = (.attention_bias ? (heads + 2*kv) * dim + h : 0) + sinks
dense  = given(.mlp_only_layers) ? .mlp_only_layers has i : i < 2
sparse = experts > 0 and (i + 1) % .decoder_sparse_step == 0 and not dense
feed:
  experts of experts, top .num_experts_per_tok, inner .moe_intermediate_size,
          shared .shared_expert_intermediate_size  if sparse
  gated inner f  if not sparse
classes ForCausalLM Model
)page";

}  // namespace floptally::models
