// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_audio[] = R"page(
page qwen2_audio : base.composite prefix Qwen2Audio
with tie_word_embeddings no?, audio_token_index any?
inner text .text_config: qwen2
inner audio .audio_config: qwen2_audio_encoder
tied   = no
pooled = 2                                       # frames of the tower that become one token; each is two that enter it
audio_units = frames(1 + (pooled - 1) * 2, 2 * pooled)
squares = frame_squares(1 + (pooled - 1) * 2, 2 * pooled)
audio_projector:
  linear in audio.h, out text.h, as projector linear, from x, to out, bias text.h, over audio_units, attends squares
)page";

}  // namespace floptally::models
