// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char sew[] = R"page(
page sew : wav2vec2 prefix SEW
with conv_dim [64, 128, 128, 128, 128, 256, 256, 256, 256, 512, 512, 512, 512]
with conv_kernel [10, 3, 1, 3, 1, 3, 1, 3, 1, 2, 1, 2, 1], conv_stride [5, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1]
with squeeze_factor 2, add_adapter no?
without codevector_dim, proj_codevector_dim, num_codevector_groups, num_codevectors_per_group, num_negatives
without output_hidden_size, num_adapter_layers, adapter_kernel_size, adapter_stride
without xvector_output_dim, tdnn_dim, tdnn_kernel, tdnn_dilation
squeeze = .squeeze_factor
every  = frames(reach, hop)
units  = frames(reach + (squeeze - 1) * hop, hop * squeeze)            # the layers run on every second frame
attends = frame_squares(reach + (squeeze - 1) * hop, hop * squeeze)
last_units = every
stem:
  convolutions channels 1, kernels .conv_kernel, out .conv_dim, strides .conv_stride, biased .conv_bias, norm 2*normed
  linear in wide, out h, as stem projection, from x, norm 2*wide, bias h, over every, attends every,
         split repeated  if wide != h
  linear in kernel * (h / groups), out h, as positions, no_lora, norm kernel, bias h, over units, attends units
  norm count 2*wide  if wide == h
  positions count h  if masks
after: linear in h, out h * squeeze, as upsample projection, units units, bias h * squeeze
classes ForCTC Model ForSequenceClassification
require not .add_adapter: .add_adapter is not supported; must be false or absent
# The hidden states that are weighed are those before the upsampling, of every second frame.
require not .use_weighted_layer_sum: .use_weighted_layer_sum is not supported; must be false or absent
)page";

}  // namespace floptally::models
