// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char llama4_text[] = R"page(
page llama4_text : llama prefix Llama4
with vocab_size 202048, hidden_size 5120, intermediate_size 8192, intermediate_size_mlp 16384, num_hidden_layers 48
with num_attention_heads 40, num_key_value_heads 8, head_dim 128
with attention_chunk_size 8192?, layer_types list? each of full_attention attention chunked_attention
with no_rope_layers list?, no_rope_layer_interval 4, moe_layers list?, interleave_moe_layer_step 1
with num_local_experts 16, num_experts_per_tok 1
without mlp_bias
divides = no
listed = size(.no_rope_layers) > 0
rope   = listed ? .no_rope_layers[i] == 1 : (i + 1) % .no_rope_layer_interval != 0
chunks = given(.layer_types) ? .layer_types[i] == "chunked_attention" : rope
sees   = chunks ? chunk(.attention_chunk_size) : causal
sparse = given(.moe_layers) ? .moe_layers has i : (i + 1) % .interleave_moe_layer_step == 0
feed:
  experts of .num_local_experts, top .num_experts_per_tok, inner f, shared f  if sparse
  gated inner .intermediate_size_mlp  if not sparse
require not listed or rope or .no_rope_layers[i] == 0: .no_rope_layers must be 0 or 1
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
