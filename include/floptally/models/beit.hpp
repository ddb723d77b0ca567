// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char beit[] = R"page(
page beit : vit prefix Beit
with vocab_size 8192, use_mask_token no, use_absolute_position_embeddings no, use_relative_position_bias no
with use_shared_relative_position_bias no, layer_scale_init_value 0.1 from 0, reshape_hidden_states any?, use_mean_pooling yes
without qkv_bias, encoder_stride, pooler_output_size
bias   = 2*heads*dim + h                         # keys have none
final_norm = 0
table  = .use_absolute_position_embeddings
offsets = (2*rows - 1) * (2*columns - 1) + 3     # in the image, and three of the class token
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (table * (rows*columns + 1) + 1 + .use_mask_token) * h
mixer:
  gqa heads heads, dim dim, bias bias
  positions count offsets * heads  if .use_relative_position_bias
more:  norm count 2*h  if .layer_scale_init_value > 0.0       # a factor per channel on what each half of a layer adds
once:  positions count offsets * heads  if .use_shared_relative_position_bias
class ForImageClassification:
  head out labels, bias, per_sequence
  norm count 2*h
class Model: norm count 2*h
class ForMaskedImageModeling:
  head out .vocab_size, bias                     # the visual words that hidden patches are to be
  norm count (.use_mean_pooling ? 2 : 4) * h
)page";

}  // namespace floptally::models
