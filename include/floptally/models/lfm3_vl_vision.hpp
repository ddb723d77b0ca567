// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lfm3_vl_vision[] = R"page(
page lfm3_vl_vision : base.tower prefix Lfm3Vl
with hidden_size 1024, intermediate_size 2560, num_hidden_layers 14, num_attention_heads 16, num_key_value_heads 8
with layer_types list? each of full_attention conv, conv_kernel_size 3, in_channels 3, patch_size 16, temporal_patch_size 2
with spatial_merge_size 2
kv     = .num_key_value_heads
norms  = 2*h
first_norm = h
final_norm = 0
qk_norm = 2*dim
side   = .spatial_merge_size
tokens_for = merged(side)
full   = given(.layer_types) ? .layer_types[i] != "conv" : i >= 2 and i % 2 == 0
stem:  patches channels .in_channels, side .patch_size, frames .temporal_patch_size
mixer:
  gqa heads heads, kv kv, dim dim, norm qk_norm  if full
  # Over the rows and columns of a frame, each channel by itself.
  short_convolution kernel .conv_kernel_size * .conv_kernel_size  if not full
feed:  gated inner f
class VisionModel:
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
)page";

}  // namespace floptally::models
