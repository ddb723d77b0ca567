// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4_unified_vision[] = R"page(
# Squares of pixels, each of which one product makes a token: no tower behind it. A patch of a grid is such a square.
page gemma4_unified_vision : base.tower prefix Gemma4Unified
with mm_embed_dim 3840, patch_size 16, pooling_kernel_size 3, mm_posemb_size 1120, output_proj_dims 3840
without hidden_size, intermediate_size, num_hidden_layers, num_attention_heads
h      = .mm_embed_dim
f      = h
layers = 1                                        # that multiplies nothing
heads  = 1
norms  = 0
mixer:
feed:
out    = .output_proj_dims
pixels = 3 * .patch_size * .patch_size * .pooling_kernel_size * .pooling_kernel_size
final_norm = 0
tokens_for = merged(1)
stem:
  linear in pixels, out h, as patch_embedding patch_dense, from x, norm 2*pixels, bias h, split repeated
  norm count 4*h
  positions count 2 * .mm_posemb_size * h         # of rows and of columns
class VisionEmbedder:
)page";

}  // namespace floptally::models
