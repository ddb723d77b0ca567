// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char wav2vec2_conformer[] = R"page(
page wav2vec2-conformer : wav2vec2 prefix Wav2Vec2Conformer
with vocab_size number?, position_embeddings_type "relative"? of relative rotary, conv_depthwise_kernel_size 31
without do_stable_layer_norm, adapter_attn_dim
norms  = 6 * 2*h                                  # one of them is of the batch
taps   = .conv_depthwise_kernel_size
relative = .position_embeddings_type == "relative"
stem:
  convolutions channels 1, kernels .conv_kernel, out .conv_dim, strides .conv_stride, biased .conv_bias, norm 2*normed
  linear in wide, out h, as stem projection, from x, norm 2*wide, bias h, over units, attends units, split repeated
  positions count kernel * (h / groups) * h + kernel + h      # the class has that convolution and does not run it
  positions count h  if masks
# Queries against projected relative positions, of which a sequence has twice as many as frames, less one.
mixer:
  gqa heads heads, dim dim, bias bias
  linear in h, out h, applied 2, stored 1, input, no_lora, as attention.positions, bias 2*h  if relative
  scores as attention.positions, per h  if relative
# The second feed-forward, and a convolution between two linears, the first twice as wide for its gate.
more:
  mlp inner f, bias f + h
  linear in h, out 2*h, as convolution, no_lora
  linear in taps, out h, as convolution, no_lora
  linear in h, out h, as convolution, no_lora
require taps % 2 == 1: .conv_depthwise_kernel_size must be odd
require given(.vocab_size) or size(.architectures) > 0 and not asked ends "ForCTC": .vocab_size is missing; must be an integer from 1 to 268435456
)page";

}  // namespace floptally::models
