// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mistral_large4_text[] = R"page(
page mistral_large4_text : glm_moe_dsa prefix MistralLarge4
with vocab_size 204800, intermediate_size 24576, moe_intermediate_size 6144, num_hidden_layers 72
with kv_lora_rank 512, qk_nope_head_dim 64, v_head_dim 128, n_routed_experts 128, num_experts_per_tok 4
with first_k_dense_replace 1, layer_types list? each of indexed_attention, indexer_types list? each of full shared
with no_rope_layers list? from 0 to 1 of numbers, no_rope_layer_interval 4
with kv_source_layers list? each from 0 to 10000 of numbers
without q_lora_rank, num_nextn_predict_layers
q      = 0
mtp    = null
source = given(.kv_source_layers) ? .kv_source_layers[i] : i       # the layer whose latent keys come from
at     = i
placed = given(.no_rope_layers) ? .no_rope_layers[at] == 1 : (i + 1) % .no_rope_layer_interval > 0
rope   = placed ? .qk_rope_head_dim : 0                            # without positions their part is as the others'
nope   = .qk_nope_head_dim + .qk_rope_head_dim - rope
own    = source == i
ih     = .index_n_heads
bias   = .attention_bias ? own * (c + rope) + h : 0
mixer:
  # Biases: a scale and an offset of each head's softmax besides.
  mla heads heads, q 0, c c, nope nope, rope rope, dim dim, shares_latent not own, norm own * c, bias bias + 2*heads
  indexer heads ih, dim .index_head_dim, q h, norm 2*.index_head_dim + 2*h, bias 2*ih  if chooses
require source <= i: .kv_source_layers must name earlier layers, or the layer itself
require own or .kv_source_layers[source] == source: .kv_source_layers must name layers with keys of their own
require not given(.no_rope_layers) or size(.no_rope_layers) >= layers: .no_rope_layers must name the {layers} layers
class ForConditionalGeneration: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
