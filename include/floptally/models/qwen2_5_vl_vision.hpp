// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_vl_vision[] = R"page(
page qwen2_5_vl_vision : base.tower prefix Qwen2_5_
with hidden_size 3584, intermediate_size 3420, depth 32, num_heads 16, in_channels 3, patch_size 14, temporal_patch_size 2
with spatial_merge_size 2, window_size 112, out_hidden_size 3584, fullatt_block_indexes list?
layers = .num_hidden_layers // .depth
heads  = .num_attention_heads // .num_heads
norms  = 2*h
bias   = 4*h
final_norm = 0
side   = .spatial_merge_size
full   = given(.fullatt_block_indexes) ? .fullatt_block_indexes has i : i % 8 == 7 and i < 32
cells  = .window_size / side / .patch_size      # merged ones along a side of a window
sees   = full ? both : grid(cells * side)
tokens_for = merged(side)
made   = .out_hidden_size
stem:  patches channels .in_channels, side .patch_size, frames .temporal_patch_size
mixer: gqa heads heads, dim dim, bias bias, fused
feed:  gated inner f, bias 2*f + h
after: merger side side, out .out_hidden_size, norm h, bias side*side*h + .out_hidden_size
class VisionTransformerPretrainedModel:
# Angles of rows and of columns, each of pairs of channels.
require dim % 4 == 0: .num_heads must leave heads of a multiple of 4 channels, and leaves {dim}
require full or cells > 0: .window_size must be at least spatial_merge_size x patch_size ({side} x {.patch_size})
)page";

}  // namespace floptally::models
