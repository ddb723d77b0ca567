// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char audioflamingo3[] = R"page(
page audioflamingo3 : qwen2_audio prefix AudioFlamingo3
with projector_bias yes
inner audio .audio_config: audioflamingo3_encoder
audio_projector:
  linear in audio.h, out text.h, as projector linear_1, from x, to up, bias .projector_bias * text.h, split columns,
         over audio_units, attends squares
  linear in text.h, out text.h, as projector linear_2, from up, to out, bias .projector_bias * text.h, split rows,
         over audio_units, attends squares
)page";

}  // namespace floptally::models
