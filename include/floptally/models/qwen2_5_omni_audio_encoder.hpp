// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_5_omni_audio_encoder[] = R"page(
page qwen2_5_omni_audio_encoder : qwen2_audio_encoder prefix Qwen2_5Omni
with n_window 100, output_dim 3584
without max_source_positions
attends = frame_squares(field(3, [1, 2], 1), 2, 0, .n_window)
tokens_for = frames(field([3, 3, 2], [1, 2, 2], [1, 1, 0]), 4)        # pairs of frames
clip   = null
stem:
  convolutions channels .num_mel_bins, kernels [3, 3], out h, strides [1, 2], paddings 1, biased
  positions count 2 * .output_dim                 # begin and end of a clip
after: linear in h, out .output_dim, as merger proj, bias .output_dim, over tokens_for, attends tokens_for
class AudioEncoder:
)page";

}  // namespace floptally::models
