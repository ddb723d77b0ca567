// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char zamba2[] = R"page(
page zamba2 : llama prefix Zamba2
with hidden_size 2560, intermediate_size number?, num_hidden_layers 54, tie_word_embeddings yes
with head_dim number absent, attention_hidden_size number?
with layers_block_type list? each of linear_attention mamba hybrid, layer_types null, hybrid_layer_ids list?
with num_mem_blocks 1, adapter_rank 128, use_shared_attention_adapter no, add_bias_linear no
with mamba_expand 2, mamba_d_state 64, mamba_d_conv 4, n_mamba_heads 8, mamba_headdim number or text absent, mamba_ngroups 1, chunk_size any?
without attention_bias, mlp_bias
divides = no
norms  = h
f      = .intermediate_size ?? 4*h
inner  = .mamba_expand * h
p      = .n_mamba_heads
d      = is_number(.mamba_headdim) ? .mamba_headdim : inner / p
g      = .mamba_ngroups
conv   = inner + 2*g * .mamba_d_state              # channels of the convolution: x, B and C
mixer:
  mamba2 heads p, dim d, groups g, state .mamba_d_state, kernel .mamba_d_conv, norm inner,
         bias 3*p + conv + .add_bias_linear * (inner + conv + p + h)
feed:
# Zamba's shared block, of which num_mem_blocks take turns, and adapters of low rank of each use (arXiv:2411.15242).
list   = .layers_block_type
ids    = .hybrid_layer_ids
usual  = [6, 12, 18, 24, 30, 36, 42, 47, 51]       # of the class, those of Zamba2-2.7B
hybrid = given(list) ? list[i] == "hybrid" : usual has i
uses   = given(list) ? times(list, "hybrid") : 9
blocks = .num_mem_blocks
first  = tied ? min(uses, blocks) : uses           # uses that have weights
later  = uses - first
# Not tied, each use holds the adapters of all uses of its turn.
turns  = uses / blocks
rest   = uses % blocks                             # blocks with one use more
held   = tied ? uses : rest * (turns + 1) * (turns + 1) + (blocks - rest) * turns * turns
rank   = .adapter_rank
adapts = .use_shared_attention_adapter
dim    = .head_dim // .attention_head_dim ?? 2*h / heads
q      = heads * dim
k      = kv * dim
once:
  linear in 2*h, out q, as attention.qkv, times first, split heads heads
  linear in 2*h, out k, applied 2, as attention.qkv, times first, split kv_heads kv
  core heads heads, dim dim, times uses
  linear in q, out h, as attention.output, times first, split heads heads
  linear in h, out f, applied 3, as mlp, times first, split even
  linear in 2*h, out q, as attention.qkv, times later, shared_weights, split heads heads
  linear in 2*h, out k, applied 2, as attention.qkv, times later, shared_weights, split kv_heads kv
  linear in q, out h, as attention.output, times later, shared_weights, split heads heads
  linear in h, out f, applied 3, as mlp, times later, shared_weights, split even
  linear in h, out h, as attention.to_mixer, times uses
  linear in h, as mlp.adapter, out rank, applied uses, stored held  if uses > 0
  linear in rank, as mlp.adapter, out 2*f, applied uses, stored held  if uses > 0
  linear in 2*h, as attention.adapter, out rank, applied 3*uses, stored 3*held  if adapts and uses > 0
  linear in rank, as attention.adapter, out 2*h, applied 3*uses, stored 3*held  if adapts and uses > 0
  norm count 3*h * first
  bias count .add_bias_linear * (2*f + h) * first
require given(list) or layers == 54: .layers_block_type is missing, and its default has 54 layers, not {layers}
require not given(ids) or (ids has i) == hybrid: .hybrid_layer_ids must be the layers that are "hybrid"
require not given(ids) or size(ids) == uses: .hybrid_layer_ids must be the layers that are "hybrid"
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
require inner % p == 0: .n_mamba_heads must divide the {inner} channels
require d == inner / p: .mamba_headdim must be the width of one of {p} heads of {inner} channels
require p % g == 0: .mamba_ngroups must divide the {p} heads
require not is_text(.mamba_headdim) or .mamba_headdim == "auto": .mamba_headdim must be an integer or "auto"
require (.attention_hidden_size ?? 2*h) == 2*h: .attention_hidden_size must be twice hidden_size ({2*h})
require not adapts or q == 2*h and kv == heads: .use_shared_attention_adapter must be false where queries, keys and values are not all twice hidden_size wide ({2*h})
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
