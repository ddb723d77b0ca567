// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char zamba[] = R"page(
page zamba : llama prefix Zamba
with hidden_size 3712, intermediate_size 14848, num_hidden_layers 76, num_attention_heads 16, num_key_value_heads 16
with head_dim number?, attention_hidden_size number?, tie_word_embeddings yes
with layer_types list? each of linear_attention mamba hybrid, layers_block_type list? each of linear_attention mamba hybrid
with attn_layer_period 6 to 10000, attn_layer_offset 4 from 0 to 10000
with mamba_expand 2, mamba_d_state 16, mamba_d_conv 4, mamba_dt_rank number or text absent, n_mamba_heads 2
with mamba_proj_bias no, mamba_conv_bias yes
without attention_bias, mlp_bias
divides = no
bias   = 0
norms  = h
inner  = .mamba_expand * h
s      = .mamba_d_state
dt     = is_number(.mamba_dt_rank) ? .mamba_dt_rank : ceil(h, 16)
mixer:
  mamba inner inner, state s, dt dt, kernel .mamba_d_conv,
        bias inner * (s + 2) + .mamba_conv_bias * inner + .mamba_proj_bias * (2*inner + h)
feed:
# Some layers run an attention block before their Mamba: over the hidden state beside the embedding (2h wide), with an
# MLP, and a linear of its own for each use (arXiv:2405.16712, figure 2). What ties the lm_head to the embedding ties
# the weights of its uses.
list   = .layer_types // .layers_block_type
after  = max(layers - 3, 0)                        # by rule, the third layer and every sixth of those after it
rule   = after > .attn_layer_offset and .attn_layer_offset < .attn_layer_period
uses   = given(list) ? times(list, "hybrid") : 1 + (rule ? (after - .attn_layer_offset - 1) / .attn_layer_period + 1 : 0)
first  = tied ? min(uses, 1) : uses                # uses that have weights
later  = uses - first
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
  norm count 3*h * first
require given(list) or layers >= 3: .layers_block_type is missing, and its default has 3 layers, not {layers}
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
require inner % .n_mamba_heads == 0: .n_mamba_heads must divide the {inner} channels
require not is_text(.mamba_dt_rank) or .mamba_dt_rank == "auto": .mamba_dt_rank must be an integer or "auto"
require (.attention_hidden_size ?? 2*h) == 2*h: .attention_hidden_size must be twice hidden_size ({2*h})
classes ForCausalLM Model ForSequenceClassification
)page";

}  // namespace floptally::models
