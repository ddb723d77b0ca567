// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_omni_moe_audio_encoder[] = R"page(
page qwen3_omni_moe_audio_encoder : qwen2_5_omni_audio_encoder prefix Qwen3OmniMoe
with n_window 50, n_window_infer 800, conv_chunksize any?, downsample_hidden_size 480
bias   = 4*h
c      = .downsample_hidden_size
bins1  = (.num_mel_bins + 1) / 2
bins2  = (bins1 + 1) / 2
bins3  = (bins2 + 1) / 2
# Each chunk by itself through three convolutions over frames and bins, which leave 13 frames of it.
chunk  = 2 * .n_window
units  = frames(field([3, 3, 3], 2, 1), 8, chunk)
attends = frame_squares(field([3, 3, 3], 2, 1), 8, chunk, 13 * (.n_window_infer / chunk))
tokens_for = null
stem:
  convolutions channels 1, kernels [3, 3, 3], out c, strides 2, paddings 1, bins [bins1, bins2, bins3], bin_kernels 3,
               biased, chunk chunk
  linear in c * bins3, out h, as stem conv_out, units units, split repeated
after:
  linear in h, out h, as merger proj1, bias h, over units, attends attends
  linear in h, out .output_dim, as merger proj2, bias .output_dim, over units, attends attends
require .n_window >= 49 and .n_window <= 52: .n_window must be from 49 to 52, since the class takes the chunks of twice as many frames for 13
require .n_window_infer >= chunk: .n_window_infer must be at least 2 x n_window ({chunk})
)page";

}  // namespace floptally::models
