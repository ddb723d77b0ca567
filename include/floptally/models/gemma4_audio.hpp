// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4_audio[] = R"page(
# A conformer whose frames see a window of others, cut into chunks where it runs.
page gemma4_audio : base.tower prefix Gemma4
with hidden_size 1024, num_hidden_layers 12, num_attention_heads 8, subsampling_conv_channels [128, 32] of numbers
with conv_kernel_size 5, attention_chunk_size any?, attention_context_left 13 from 2, attention_context_right 0 from 0
with output_proj_dims 1536, use_clipped_linears any?
without intermediate_size
stands = "audio"
f      = 4*h
norms  = 9*h + dim                                # and a scale of each channel of a head
final_norm = 0
first  = .subsampling_conv_channels[0]
second = last(.subsampling_conv_channels)
bins   = first / 4                                # left of the bins that enter, which are as many as the first channels
out    = .output_proj_dims
reach  = field([3, 3], 2, 1)
units  = frames(reach, 4)
attends = frame_squares(reach, 4)
sees   = frame_band(reach, 4, .attention_context_left - 2, max(.attention_context_right - 1, 0))
per_unit = 0
stem:
  convolutions channels 1, kernels [3, 3], out [first, second], strides 2, paddings 1, bins [2*bins, bins], bin_kernels 3,
               norm first + second
  linear in second * bins, out h, as stem input_proj_linear, over units, attends units, split repeated
# Queries against the projected distances of the window, which are made once a step.
mixer:
  gqa heads heads, dim dim
  linear in h, out heads * dim, applied 0, stored 1, no_lora, as attention.positions
  scores per heads * dim, as attention.positions
feed:  mlp inner f
more:
  mlp inner f
  linear in h, out 2*h, as convolution, no_lora
  linear in .conv_kernel_size, out h, as convolution, no_lora
  linear in h, out h, as convolution, no_lora
after: linear in h, out out, as merger output_proj, units units, bias out
class AudioModel:
require size(.subsampling_conv_channels) == 2: .subsampling_conv_channels must list two numbers
require bins > 0: .subsampling_conv_channels must be at least 4, since a bin is left for each four of the first
)page";

}  // namespace floptally::models
