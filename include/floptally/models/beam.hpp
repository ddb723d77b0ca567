// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char beam[] = R"page(
page beam : qwen3_moe prefix Beam
with vocab_size 151936, hidden_size 5120, intermediate_size 20480, num_hidden_layers 52, num_attention_heads 48
with num_key_value_heads 8, head_dim 128, sliding_window 512?
with layer_types list? each of full_attention attention sliding_attention, mlp_layer_types list? each of dense sparse
with num_experts 256, num_experts_per_tok 8, moe_intermediate_size 2560, n_group any?, topk_group any?
without use_sliding_window, decoder_sparse_step, mlp_only_layers
experts = .num_experts
norms  = 4*h                      # before and after each half
named_window = no                 # no flag stands beside the kinds of layers
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % 6 != 0 and i + 1 < layers
sees   = slides ? window(.sliding_window) : causal
sparse = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= 3
bias   = (.attention_bias ? (heads + 2*kv) * dim + h : 0) + heads        # of the gate, one a head
mixer: gqa heads heads, kv kv, dim dim, gate heads*dim, norm qk_norm, bias bias
require given(.sliding_window) or not slides: .sliding_window must be an integer where layers slide
classes ForCausalLM Model
)page";

}  // namespace floptally::models
