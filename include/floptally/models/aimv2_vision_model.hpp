// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char aimv2_vision_model[] = R"page(
page aimv2_vision_model : base.tower prefix Aimv2
with hidden_size 1024, intermediate_size 2816, num_hidden_layers 24, num_attention_heads 8, image_size 224, patch_size 14
with num_channels 3, qkv_bias no, mlp_bias no, use_head yes, is_native no
norms  = 2*h
final_norm = h
bias   = .qkv_bias * 4*h
feed:  gated inner f, bias .mlp_bias * (2*f + h)
rows   = .image_size / .patch_size
stem:
  patches channels .num_channels, side .patch_size, bias h
  norm count h
  positions count rows*rows * h  if not .is_native         # else sines of any size
# A learned query that no matrix changes attends all patches.
class VisionModel:
  linear in h, as pooling kv_proj, from x, detached, bias .qkv_bias * 2*h, out 2*h            if .use_head
  core heads heads, as pooling.core, detached, dim dim, pairs 1                   if .use_head
  linear in h, as pooling output_proj, per_sequence, detached, bias 2*h, out h     if .use_head
)page";

}  // namespace floptally::models
