// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lasr_encoder[] = R"page(
page lasr_encoder : base.tower prefix Lasr
with hidden_size 512, intermediate_size 2048, num_hidden_layers 17, num_attention_heads 8, num_key_value_heads any?
with head_dim number?, attention_bias no, convolution_bias no, conv_kernel_size 32, num_mel_bins 128
with subsampling_conv_channels 256, subsampling_conv_kernel_size 5, subsampling_conv_stride 2, layerdrop 0.1 from 0
stands = "audio"
divides = no
dim    = .head_dim ?? h / heads
bias   = .attention_bias ? 3 * heads * dim + h : 0
norms  = 5*h + 2*h                                # the last is of the batch
final_norm = h
taps   = .conv_kernel_size
c      = .subsampling_conv_channels
k      = .subsampling_conv_kernel_size
s      = .subsampling_conv_stride
units  = frames(field([k, k], s), s*s)
attends = frame_squares(field([k, k], s), s*s)
per_unit = 0
stem:
  linear in .num_mel_bins, out h, as stem dense_0, from x, input, bias h, split repeated
  convolutions channels h, kernels [k, k], out [h, c], strides s, biased, inside, field 1, stride 1
  linear in c, out h, as stem dense_1, bias h, over units, attends units, split repeated
feed:  mlp inner f, bias .attention_bias * (f + h)
more:
  mlp inner f, bias .attention_bias * (f + h)
  linear in h, out 2*h, as convolution, no_lora
  linear in taps, out h, as convolution, no_lora
  linear in h, out h, as convolution, no_lora, bias .convolution_bias * 4*h
note .layerdrop > 0.0: layerdrop skips layers at random in training: counted as if none were skipped
class Encoder:
)page";

}  // namespace floptally::models
