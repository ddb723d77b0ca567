// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ovis2_vision[] = R"page(
page ovis2_vision : base.tower prefix Ovis2
with hidden_size 1024, intermediate_size 2816, num_hidden_layers 24, num_attention_heads 8, image_size 224, patch_size 14
with num_channels 3, qkv_bias no, mlp_bias no
with vocab_size 16384, num_visual_indicator_tokens 5 from 0, hidden_stride 1
norms  = 2*h
first_norm = h
final_norm = h
bias   = .qkv_bias * 4*h
rows   = .image_size / .patch_size
side   = .hidden_stride
all    = .vocab_size
words  = all - .num_visual_indicator_tokens      # of the visual vocabulary, but those that stand around images
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count rows*rows * h
feed:  gated inner f, bias .mlp_bias * (2*f + h)
after: linear in side*side*h, out words, as merger head_linear, from x, to likely, units merged(side), norm 2*words
class VisionModel:
require words > 0: .num_visual_indicator_tokens must be below vocab_size ({all})
)page";

}  // namespace floptally::models
