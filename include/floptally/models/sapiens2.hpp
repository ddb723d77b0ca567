// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char sapiens2[] = R"page(
page sapiens2 : dinov3_vit prefix Sapiens2
with hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16, num_register_tokens 8 from 0
with key_bias yes, use_gated_mlp yes, use_qk_norm yes, use_mask_token no, num_key_value_heads_per_layer list? each
with num_key_value_attention_heads 8, num_first_full_attention_layers 8 from 0, num_last_full_attention_layers 8 from 0
with normalize_backbone_outputs any?, out_features any?, out_indices any?
without apply_layernorm
norms  = 2*h
final_norm = h
whole  = i < .num_first_full_attention_layers or i + .num_last_full_attention_layers >= layers
kv     = given(.num_key_value_heads_per_layer) ? .num_key_value_heads_per_layer[i] : whole ? heads : .num_key_value_attention_heads
qk_norm = .use_qk_norm * 2*dim
bias   = (.query_bias + .proj_bias) * h + (.key_bias + .value_bias) * kv*dim
more:  norm count h               # a factor per channel on what the attention adds
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (1 + .use_mask_token + .num_register_tokens) * h
)page";

}  // namespace floptally::models
