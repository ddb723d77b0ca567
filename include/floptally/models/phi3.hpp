// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char phi3[] = R"page(
page phi3 : mistral prefix Phi3
with vocab_size 32064, hidden_size 3072, intermediate_size 8192, num_key_value_heads number?, sliding_window number?
without layer_types
slides = given(.sliding_window)
fused_qkv = yes
feed:  gated inner f, fused
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
