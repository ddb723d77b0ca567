// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char olmo3[] = R"page(
page olmo3 : olmo2 prefix Olmo3
with sliding_window 4096?, layer_types list? each of full_attention attention sliding_attention
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % 4 != 0
sees   = slides ? window(.sliding_window) : causal
)page";

}  // namespace floptally::models
