// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char voxtral_encoder[] = R"page(
page voxtral_encoder : qwen2_audio_encoder prefix Voxtral
)page";

}  // namespace floptally::models
