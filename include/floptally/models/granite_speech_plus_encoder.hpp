// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granite_speech_plus_encoder[] = R"page(
page granite_speech_plus_encoder : granite_speech_encoder prefix GraniteSpeechPlus
with cat_hidden_layers list? from 0 of numbers
left   = h * (count_of_them + 1)              # beside some layers' own, 0 being what enters the first
count_of_them = size(.cat_hidden_layers)
require not given(.cat_hidden_layers) or largest(.cat_hidden_layers) < layers: .cat_hidden_layers must be below num_layers ({layers})
)page";

}  // namespace floptally::models
