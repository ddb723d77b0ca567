// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kimi_k25_vision[] = R"page(
page kimi_k25_vision : base.tower prefix Kimi_K25
with hidden_size 1152, intermediate_size 4304, num_hidden_layers 27, num_attention_heads 16, patch_size 14
with pos_emb_height 64, pos_emb_width 64, merge_kernel_size list?
bias   = 4*h
side   = .merge_kernel_size[0] ?? 2
sees   = clip_squares()           # a clip is one sequence
tokens_for = pooled(side)         # of all its frames
stem:
  patches channels 3, side .patch_size, bias h
  positions count .pos_emb_height * .pos_emb_width * h
class VisionModel:
require not given(.merge_kernel_size) or size(.merge_kernel_size) == 2 and side == .merge_kernel_size[1]: .merge_kernel_size must be two equal numbers
)page";

}  // namespace floptally::models
