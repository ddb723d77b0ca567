// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char musicflamingo[] = R"page(
# Sound is turned by its time before the projector, which multiplies no matrix.
page musicflamingo : audioflamingo3 prefix MusicFlamingo
inner audio .audio_config: audioflamingo3_encoder, older musicflamingo_encoder
)page";

}  // namespace floptally::models
