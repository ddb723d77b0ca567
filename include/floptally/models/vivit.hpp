// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vivit[] = R"page(
page vivit : vit prefix Vivit
with tubelet_size [2, 16, 16] of numbers, num_frames 32, pooler_output_size number?
without patch_size, encoder_stride, head_dim
divides = yes
rows   = .image_size[0] / .tubelet_size[1]
columns = .image_size[1] / .tubelet_size[2]
frames = .num_frames / .tubelet_size[0]
# A clip has one class token, which sees all patches of all its frames, and they it.
class_tokens = 0
sees   = clip_squares()
stem:
  linear in .num_channels * product(.tubelet_size), as patch_embedding, from x, to x, input, no_lora, bias h, out h
  positions count (frames * rows*columns + 2) * h
mixer:
  gqa heads heads, dim dim, bias bias
  linear in h, as attention.class_token, units clips(), shared_weights, no_lora, out 4*h
  core heads heads, as attention.core, dim dim, pairs 2                    # each patch with it, and it with each
  core heads heads, as attention.core, dim dim, pairs 1, over clips()
feed:
  mlp inner f, bias f + h
  linear in h, as mlp.class_token, units clips(), shared_weights, no_lora, out 2*f
class ForVideoClassification:
  linear in h, out labels, head, as lm_head classifier, from x, units clips(), bias labels, split replicated
class Model:
  linear in h, as pooler dense, from x, units clips(), detached, bias .pooler_output_size ?? h, out .pooler_output_size ?? h
require frames > 0: .num_frames must be at least tubelet_size
require size(.tubelet_size) == 3: .tubelet_size must be [frames, height, width]
)page";

}  // namespace floptally::models
