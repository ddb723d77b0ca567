// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma3_text[] = R"page(
page gemma3_text : gemma2 prefix Gemma3
with vocab_size 262208, sliding_window_pattern 6
qk_norm = 2*dim
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % .sliding_window_pattern != 0
# As an encoder, it sees half of the window on each side.
half   = .sliding_window / 2
near   = both_ways ? around(half, half) : window(.sliding_window)
sees   = slides ? near : both_ways ? both : causal
require given(.sliding_window) or not slides: .sliding_window must be an integer where layers slide
honours_both_ways = yes
class ForCausalLM: head out v, words
class TextModel:
class TextForSequenceClassification: head out labels
)page";

}  // namespace floptally::models
