// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/model/component_name.hpp>

/// @file
/// The parts of a layer in floptally's own format (docs/config_format.md), each a page: its keys, and the line of a
/// block that it stands for.

namespace floptally::detail {

inline constexpr char floptally_parts[] = R"page(
page floptally
with hidden_size number
h = .hidden_size

# What all have. `mask` is a word, an object with one key, or the text of a rule.
page floptally.part
with type text
h = model.h

page floptally.heads : floptally.part
with num_heads number, num_kv_heads number absent, head_dim number absent
kv  = .num_kv_heads ?? .num_heads
dim = .head_dim ?? h / .num_heads
require .num_heads % kv == 0: .num_kv_heads must divide num_heads ({.num_heads})
require given(.head_dim) or h % .num_heads == 0: .head_dim is missing, and num_heads ({.num_heads}) does not divide hidden_size ({h})

page floptally.attention : floptally.heads
with mask any absent
part: gqa heads .num_heads, kv kv, dim dim, sees written_mask()

page floptally.cross_attention : floptally.heads
with context_size number absent
part: cross heads .num_heads, kv kv, dim dim, context .context_size ?? h

page floptally.mla : floptally.part
with num_heads number, q_lora_rank 0, kv_lora_rank number, qk_nope_head_dim number, qk_rope_head_dim 0, v_head_dim number
with absorbed flag absent, gate_size 0, shares_latent no, mask any absent
part:
  mla heads .num_heads, q .q_lora_rank, c .kv_lora_rank, nope .qk_nope_head_dim, rope .qk_rope_head_dim, dim .v_head_dim, gate .gate_size, absorbed .absorbed, shares_latent .shares_latent, sees written_mask()

page floptally.lightning_indexer : floptally.part
with num_heads number, head_dim number, query_size number absent, detached yes, compress_ratio 0, key_width 0, key_gate no
with head_weights yes
part:
  indexer heads .num_heads, dim .head_dim, q .query_size ?? h, ratio .compress_ratio, key_width .key_width, key_gate .key_gate, no_weights not .head_weights, fused_sum, trained not .detached

page floptally.compressed_attention : floptally.part
with num_heads number, head_dim number, q_lora_rank number, window number, compress_ratio 0, overlap no, best_keys 0
with o_groups 1, o_lora_rank number
require .compress_ratio > 0 or not .overlap and .best_keys == 0: .compress_ratio must be at least 1 where compressed keys overlap or the best are chosen
require .num_heads * .head_dim % .o_groups == 0: .o_groups must divide num_heads x head_dim ({.num_heads * .head_dim})
part:
  compressed_attention heads .num_heads, dim .head_dim, q .q_lora_rank, window .window, ratio .compress_ratio, overlap .overlap, best .best_keys, groups .o_groups, o .o_lora_rank

page floptally.hyper_connections : floptally.part
with streams number, mixes yes
part: hyper_connections streams .streams, unmixed not .mixes

page floptally.stream_head : floptally.part
with streams number
part: stream_head streams .streams

page floptally.gated_streams : floptally.part
with streams number, rank number, injects yes
part: gated_streams streams .streams, rank .rank, last not .injects

page floptally.mlp : floptally.part
with intermediate_size number, gated yes
part:
  gated inner .intermediate_size  if .gated
  mlp inner .intermediate_size    if not .gated

page floptally.moe : floptally.part
with num_experts number, num_experts_per_tok number, intermediate_size number, shared_intermediate_size 0
with shared_expert_gate no, gated yes, latent_size 0, zero_experts 0
all_experts = .num_experts + .zero_experts
require .num_experts_per_tok <= all_experts: .num_experts_per_tok must be an integer from 1 to {all_experts}
require not .shared_expert_gate or .shared_intermediate_size > 0: .shared_expert_gate must be false without shared_intermediate_size
part:
  experts of .num_experts, top .num_experts_per_tok, inner .intermediate_size, shared .shared_intermediate_size, shared_gate .shared_expert_gate, plain not .gated, latent .latent_size, zero .zero_experts

page floptally.mamba : floptally.part
with inner_size number, state_size number, dt_rank number, conv_kernel number
part: mamba inner .inner_size, state .state_size, dt .dt_rank, kernel .conv_kernel

page floptally.mamba2 : floptally.part
with num_heads number, head_dim number, n_groups 1, state_size number, conv_kernel number
part: mamba2 heads .num_heads, dim .head_dim, groups .n_groups, state .state_size, kernel .conv_kernel

page floptally.gated_delta_net : floptally.part
with num_key_heads number, num_value_heads number, key_head_dim number, value_head_dim number, conv_kernel number, output_gate yes
part:
  delta_net keys .num_key_heads, values .num_value_heads, key_dim .key_head_dim, value_dim .value_head_dim, kernel .conv_kernel, no_gate not .output_gate

page floptally.kda : floptally.part
with num_heads number, head_dim number, conv_kernel number
part: kda heads .num_heads, dim .head_dim, kernel .conv_kernel

page floptally.lightning_attention : floptally.part
with num_heads number, head_dim number
part: lightning heads .num_heads, dim .head_dim

page floptally.mlstm : floptally.part
with num_heads number, key_head_dim number, value_head_dim number
part: mlstm heads .num_heads, key_dim .key_head_dim, value_dim .value_head_dim

page floptally.rg_lru : floptally.part
with lru_width number, num_blocks number, conv_kernel number
require .lru_width % .num_blocks == 0: .num_blocks must divide lru_width ({.lru_width})
part: rg_lru width_of .lru_width, blocks .num_blocks, kernel .conv_kernel

page floptally.short_convolution : floptally.part
with conv_kernel number
part: short_convolution kernel .conv_kernel

page floptally.rwkv_time_mix : floptally.part
with attention_size number absent
part: time_mix inner .attention_size ?? h

page floptally.rwkv_channel_mix : floptally.part
with intermediate_size number
part: channel_mix inner .intermediate_size

# What no part describes: a matrix, or multiply-adds of a token without one.
page floptally.named : floptally.part
with component text
require size(.component) > 0 and size(.component) < 40: .component must have 1 to 39 characters

page floptally.linear : floptally.named
with in_features number, out_features number, rows "tokens" of tokens keys count
with split text absent of columns rows even replicated repeated
part:
  linear in .in_features, out .out_features, of_keys .rows == "keys", per_sequence .rows == "count", dealt .split, named .component

page floptally.state : floptally.named
with multiply_adds number to 281474976710656, split text absent of even replicated repeated
part: state per .multiply_adds, dealt .split, named .component
)page";
static_assert(component_name::capacity == 39, "the page above says how long a component's name may be");

}  // namespace floptally::detail
