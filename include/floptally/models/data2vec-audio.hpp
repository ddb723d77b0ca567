// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char data2vec_audio[] = R"page(
page data2vec-audio : wav2vec2 prefix Data2VecAudio
with num_conv_pos_embeddings 5 from 0 to 10000, conv_pos_kernel_size 19
without feat_extract_norm, codevector_dim, proj_codevector_dim, num_codevector_groups, num_codevectors_per_group, num_negatives
normed = sum(.conv_dim)                          # a norm after each convolution
stem:
  convolutions channels 1, kernels .conv_kernel, out .conv_dim, strides .conv_stride, biased .conv_bias, norm 2*normed
  linear in wide, out h, as stem projection, from x, norm 2*wide, bias h, over units, attends units
  linear in .conv_pos_kernel_size * (h / groups), out h, as positions, no_lora, bias h, over units, attends units, times .num_conv_pos_embeddings
  positions count h  if masks
)page";

}  // namespace floptally::models
