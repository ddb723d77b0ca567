// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char audioflamingo3_encoder[] = R"page(
page audioflamingo3_encoder : qwen2_audio_encoder prefix AudioFlamingo3
)page";

}  // namespace floptally::models
