// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hubert[] = R"page(
page hubert : wav2vec2 prefix Hubert
with conv_pos_batch_norm no, feat_proj_layer_norm yes, add_adapter no?
without codevector_dim, proj_codevector_dim, num_codevector_groups, num_codevectors_per_group, num_negatives
without output_hidden_size, num_adapter_layers, adapter_kernel_size, adapter_stride
without xvector_output_dim, tdnn_dim, tdnn_kernel, tdnn_dilation
projection_norm = .feat_proj_layer_norm * 2*wide
position_norm = .conv_pos_batch_norm ? 2*h : kernel
classes ForCTC Model ForSequenceClassification
require not .add_adapter: .add_adapter is not supported; must be false or absent
)page";

}  // namespace floptally::models
