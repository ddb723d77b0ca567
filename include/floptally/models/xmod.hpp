// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char xmod[] = R"page(
page xmod : roberta prefix Xmod
with vocab_size 30522, pre_norm no, languages list?, adapter_reduction_factor 2, adapter_layer_norm no
with adapter_reuse_layer_norm any?, ln_before_adapter any?
languages = given(.languages) ? different(.languages) : 1
narrow = h / .adapter_reduction_factor
# After each MLP an adapter: a pair of linears for each language, and a token passes one of them.
more:
  linear in h, out narrow, applied 2, stored 2*languages, as adapter, bias languages * (narrow + h)  if languages != 0
  norm count 2*h  if .adapter_layer_norm
once: norm count 2*h  if .pre_norm
require narrow > 0: .adapter_reduction_factor must be at most hidden_size ({h})
)page";

}  // namespace floptally::models
