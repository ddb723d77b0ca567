// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma3n_audio[] = R"page(
page gemma3n_audio : gemma4_audio prefix Gemma3n
with hidden_size 1536, conf_num_hidden_layers 12, conf_num_attention_heads 8, conf_conv_kernel_size 5, input_feat_size 128
with conf_attention_chunk_size any?, conf_attention_context_left 13, conf_attention_context_right 0 from 0
with conf_reduction_factor 4, sscp_conv_channel_size [128, 32] of numbers
with sscp_conv_kernel_size list?, sscp_conv_stride_size list?, vocab_size 128, vocab_offset any?
without num_hidden_layers, num_attention_heads, subsampling_conv_channels, conv_kernel_size
without attention_chunk_size, attention_context_left, attention_context_right, output_proj_dims, use_clipped_linears
layers = .conf_num_hidden_layers
heads  = .conf_num_attention_heads
first  = .sscp_conv_channel_size[0]
second = last(.sscp_conv_channel_size)
bins1  = (.input_feat_size - 1) / 2 + 1
bins   = (bins1 - 1) / 2 + 1
out    = h
words  = .vocab_size
sees   = frame_band(reach, 4, .conf_attention_context_left - 1, .conf_attention_context_right)
# Every fourth frame is left of a clip.
tokens_for = frames(1, 4 * .conf_reduction_factor)
stem:
  convolutions channels 1, kernels [3, 3], out [first, second], strides 2, paddings 1, bins [bins1, bins], bin_kernels 3,
               norm first + second
  linear in second * bins, out h, as stem input_proj_linear, over units, attends units, split repeated
more:
  mlp inner f
  linear in h, out 2*h, as convolution, no_lora
  linear in .conf_conv_kernel_size, out h, as convolution, no_lora
  linear in h, out h, as convolution, no_lora
after:
class AudioEncoder:
require size(.sscp_conv_channel_size) == 2: .sscp_conv_channel_size must list two numbers
require (.sscp_conv_kernel_size ?? [[3, 3], [3, 3]]) == [[3, 3], [3, 3]]: .sscp_conv_kernel_size must be [[3, 3], [3, 3]]
require (.sscp_conv_stride_size ?? [[2, 2], [2, 2]]) == [[2, 2], [2, 2]]: .sscp_conv_stride_size must be [[2, 2], [2, 2]]
)page";

}  // namespace floptally::models
