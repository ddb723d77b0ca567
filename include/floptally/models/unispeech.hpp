// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char unispeech[] = R"page(
page unispeech : wav2vec2 prefix UniSpeech
with add_adapter no?, num_ctc_classes any?
without output_hidden_size, num_adapter_layers, adapter_kernel_size, adapter_stride
without xvector_output_dim, tdnn_dim, tdnn_kernel, tdnn_dilation
classes ForCTC Model ForSequenceClassification
require not .add_adapter: .add_adapter is not supported; must be false or absent
)page";

}  // namespace floptally::models
