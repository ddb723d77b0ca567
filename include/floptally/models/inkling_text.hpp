// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char inkling_text[] = R"page(
# Layers with and without a window, each of heads of its own; a bias of each distance that a token mixes of learned profiles;
# four short convolutions: of keys, of values, behind the attention and behind the feed-forward.
page inkling_text : base.decoder prefix Inkling
with vocab_size 201024, hidden_size 6144, intermediate_size 24576, num_hidden_layers 66, num_attention_heads 64
with num_key_value_heads 8, head_dim 128, swa_num_attention_heads 64, swa_num_key_value_heads 16, swa_head_dim 128
with sliding_window_size 512, d_rel 16, rel_extent 1024, layer_types list? each of hybrid hybrid_sliding
with local_layer_ids list? from 0 of numbers, conv_kernel_size 4, mlp_layer_types list? each of dense sparse
with dense_mlp_idx 0 from 0, dense_intermediate_size number?, moe_intermediate_size 3072, n_routed_experts 256
with num_experts_per_tok 6, n_shared_experts 2, num_mtp_layers number?, sliding_window number absent, sconv_kernel_size number absent
with num_local_experts number absent
slides = given(.layer_types) ? .layer_types[i] == "hybrid_sliding" : given(.local_layer_ids) ? .local_layer_ids has i : (i + 1) % 6 != 0
nheads = slides ? .swa_num_attention_heads : heads
kv     = slides ? .swa_num_key_value_heads : .num_key_value_heads
dim    = slides ? .swa_head_dim : .head_dim
reach  = .sliding_window ?? .sliding_window_size
sees   = slides ? window(reach) : causal
profile = slides ? reach : .rel_extent           # distances that have a bias
kernel = .sconv_kernel_size ?? .conv_kernel_size
# Files with a width of the dense layers mean the experts' by the other.
f      = .dense_intermediate_size ?? .intermediate_size
inner  = given(.dense_intermediate_size) ? .intermediate_size : .moe_intermediate_size
sparse = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i >= .dense_mlp_idx
experts = .num_local_experts ?? .n_routed_experts
norms  = 2*h + 2*dim
tied   = no
mtp    = .num_mtp_layers ?? 0
no_mtp = "whose prediction layers have windows of their own"

mixer:
  linear in h, out nheads*dim, as attention.qkv q_proj, split heads nheads
  linear in h, out kv*dim, as attention.qkv k_proj, split kv_heads kv
  linear in h, out kv*dim, as attention.qkv v_proj, split kv_heads kv
  linear in kernel, out kv*dim, applied 2, as attention.convolution, no_lora
  linear in h, out nheads * .d_rel, as attention.positions r_proj, split heads nheads
  linear in .d_rel, out profile, applied nheads, stored 1, as attention.positions profiles, no_lora
  core heads nheads, dim dim
  linear in nheads*dim, out h, as attention.output o_proj, split heads nheads
feed:
  experts of experts, top .num_experts_per_tok, inner inner, shared .n_shared_experts * inner, norm 1  if sparse
  linear in h, out .n_shared_experts, as moe.router shared, router  if sparse
  gated inner f, norm 1  if not sparse
more: linear in kernel, out h, applied 2, as convolution, no_lora
once: norm count h
class ForCausalLM: head out v, words
class TextModel:
require nheads % kv == 0: .num_attention_heads must be a multiple of the heads of keys ({kv})
require .num_experts_per_tok <= experts: .num_experts_per_tok must be at most n_routed_experts ({experts})
)page";

}  // namespace floptally::models
