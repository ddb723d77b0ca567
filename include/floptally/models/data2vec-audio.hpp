// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char data2vec_audio[] = R"page(
page data2vec-audio : wav2vec2 prefix Data2VecAudio
with num_conv_pos_embeddings 5 from 0 to 10000, conv_pos_kernel_size 19
without feat_extract_norm, codevector_dim, proj_codevector_dim, num_codevector_groups, num_codevectors_per_group, num_negatives
kernel = .conv_pos_kernel_size
convolved = .num_conv_pos_embeddings
position_norm = 0
normed = sum(.conv_dim)                          # a norm after each convolution
)page";

}  // namespace floptally::models
