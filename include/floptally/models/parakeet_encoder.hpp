// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char parakeet_encoder[] = R"page(
page parakeet_encoder : base.tower prefix Parakeet
with hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 8, num_key_value_heads 8
with head_dim number?, attention_bias yes, convolution_bias yes, conv_kernel_size 9, num_mel_bins 80
with subsampling_factor 8, subsampling_conv_channels 256, subsampling_conv_kernel_size 3, subsampling_conv_stride 2
stands = "audio"
divides = no
kv     = .num_key_value_heads
dim    = .head_dim ?? h / heads
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
norms  = 6 * 2*h                                  # one of them is of the batch
final_norm = 0
taps   = .conv_kernel_size
# Convolutions over frames and bins, each of which halves both: the first is dense, of the others each is one for every
# channel and one across them.
halvings = .subsampling_factor >= 16 ? 4 : .subsampling_factor >= 8 ? 3 : .subsampling_factor >= 4 ? 2 : 1
c      = .subsampling_conv_channels
k      = .subsampling_conv_kernel_size
s      = .subsampling_conv_stride
p      = (k - 1) / 2
bins1  = max(.num_mel_bins + 2*p - k + s, 0) / s     # one more than the strides that the kernel can take
bins2  = max(bins1 + 2*p - k + s, 0) / s
bins3  = max(bins2 + 2*p - k + s, 0) / s
bins4  = max(bins3 + 2*p - k + s, 0) / s
bins   = halvings == 4 ? bins4 : halvings == 3 ? bins3 : halvings == 2 ? bins2 : bins1
reach1 = field([k], s, p)
reach2 = field([k, k], s, p)
reach3 = field([k, k, k], s, p)
reach4 = field([k, k, k, k], s, p)
reach  = halvings == 4 ? reach4 : halvings == 3 ? reach3 : halvings == 2 ? reach2 : reach1
hop    = power(s, halvings)
units  = frames(reach, hop)
attends = frame_squares(reach, hop)
per_unit = 0
stem:
  convolutions channels 1, kernels [k], out c, strides s, paddings p, bins bins1, bin_kernels k, biased
  convolutions channels c, kernels [k, 1], out c, strides [s, 1], paddings [p, 0], groups [c, 1], bins bins2,
               bin_kernels [k, 1], biased, inside, field reach1, stride s  if halvings >= 2
  convolutions channels c, kernels [k, 1], out c, strides [s, 1], paddings [p, 0], groups [c, 1], bins bins3,
               bin_kernels [k, 1], biased, inside, field reach2, stride s*s  if halvings >= 3
  convolutions channels c, kernels [k, 1], out c, strides [s, 1], paddings [p, 0], groups [c, 1], bins bins4,
               bin_kernels [k, 1], biased, inside, field reach3, stride s*s*s  if halvings >= 4
  linear in c * bins, out h, as stem projection, from x, bias h, over units, attends units, split repeated
mixer:
  gqa heads heads, kv kv, dim dim, bias bias
  linear in h, out heads * dim, applied 2, stored 1, input, no_lora, as attention.positions, bias 2 * heads * dim
  scores per heads * dim, as attention.positions
feed:  mlp inner f, bias .attention_bias * (f + h)
more:
  mlp inner f, bias .attention_bias * (f + h)
  linear in h, out 2*h, as convolution, no_lora
  linear in taps, out h, as convolution, no_lora
  linear in h, out h, as convolution, no_lora, bias .convolution_bias * 4*h
class Encoder:
require taps % 2 == 1: .conv_kernel_size must be odd
require .subsampling_factor >= 2 and .subsampling_factor < 32: .subsampling_factor must be from 2 to 31
require bins >= 1: .subsampling_factor leaves no bin of num_mel_bins
require bins == .num_mel_bins / hop: .num_mel_bins must leave a bin of each {hop}; the convolutions leave {bins}
)page";

}  // namespace floptally::models
