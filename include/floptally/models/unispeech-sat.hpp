// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char unispeech_sat[] = R"page(
page unispeech-sat : wav2vec2 prefix UniSpeechSat
with add_adapter no?, num_clusters any?
without output_hidden_size, num_adapter_layers, adapter_kernel_size, adapter_stride
require not .add_adapter: .add_adapter is not supported; must be false or absent
)page";

}  // namespace floptally::models
