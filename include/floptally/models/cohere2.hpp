// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cohere2[] = R"page(
page cohere2 : cohere prefix Cohere2
with sliding_window 4096?, sliding_window_pattern 4
with layer_types list? each of full_attention attention sliding_attention
without use_qk_norm
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % .sliding_window_pattern != 0
sees   = slides ? window(.sliding_window) : causal
)page";

}  // namespace floptally::models
