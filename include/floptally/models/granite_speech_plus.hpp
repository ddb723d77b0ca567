// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granite_speech_plus[] = R"page(
page granite_speech_plus : granite_speech prefix GraniteSpeechPlus
inner audio .encoder_config: granite_speech_plus_encoder, always
)page";

}  // namespace floptally::models
