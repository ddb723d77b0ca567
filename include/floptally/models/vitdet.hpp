// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vitdet[] = R"page(
page vitdet : base.tower prefix VitDet
with hidden_size 768, num_hidden_layers 12, num_attention_heads 12, mlp_ratio 4.0 to 1024, image_size 224, patch_size 16
with pretrain_image_size 224, num_channels 3, qkv_bias yes, window_size 0 from 0, window_block_indices [] from 0 of numbers
with residual_block_indices [] from 0 of numbers, use_absolute_position_embeddings yes, use_relative_position_embeddings no
with out_features any?, out_indices any?
without intermediate_size
f      = floor(.mlp_ratio * h)
rows   = .image_size / .patch_size
before = .pretrain_image_size / .patch_size
final_norm = 0
cut    = .window_size > 0 and .window_block_indices has i
side   = cut ? .window_size : 0
sees   = cut ? grid(.window_size) : both
across = cut ? .window_size : rows
bias   = .qkv_bias * 3*h + h
half   = h / 2
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (before*before + 1) * h
mixer:
  gqa heads heads, dim dim, bias bias, fused
  scores per h, as attention.positions, sees lines(side)  if .use_relative_position_embeddings
  positions count 2 * (2*across - 1) * dim                  if .use_relative_position_embeddings
# A bottleneck of three convolutions, behind some layers.
more:
  linear in h, as convolution conv1, from x, to a, no_lora, norm 2*half, out half         if .residual_block_indices has i
  linear in 9*half, as convolution conv2, from a, to b, no_lora, norm 2*half, out half    if .residual_block_indices has i
  linear in half, as convolution conv3, from b, to c, no_lora, norm 2*h, out h            if .residual_block_indices has i
class Model:
require .use_absolute_position_embeddings: .use_absolute_position_embeddings is not supported; must be true, which is all that the class can be built with
)page";

}  // namespace floptally::models
