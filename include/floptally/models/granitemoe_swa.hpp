// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granitemoe_swa[] = R"page(
page granitemoe_swa : granitemoeshared prefix GraniteMoeSWA
with sliding_window 128?, layer_types list? each of full_attention attention sliding_attention
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i % 4 != 0
sees   = slides ? window(.sliding_window) : causal
sinks  = heads                    # what each head may attend to besides tokens
bias   = (.attention_bias ? (heads + 2*kv) * dim + h : 0) + sinks
)page";

}  // namespace floptally::models
