// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char voxtral[] = R"page(
page voxtral : qwen2_audio prefix Voxtral
with hidden_size any?                            # the text's
inner text .text_config: voxtral.text, older llama
inner audio .audio_config: voxtral_encoder
pooled = audio.f / audio.h                       # as many as fill a row of the tower's intermediate_size
audio_projector:
  linear in audio.f, out text.h, as projector linear_1, from x, to up, over audio_units, attends squares, split columns
  linear in text.h, out text.h, as projector linear_2, from up, to out, over audio_units, attends squares, split rows
require audio.f % audio.h == 0: .audio_config.intermediate_size must be a multiple of hidden_size ({audio.h}), since frames are stacked to rows of it

page voxtral.text : llama
with vocab_size 131072, hidden_size 3072, intermediate_size 8192, num_hidden_layers 30, num_key_value_heads 8?, head_dim 128?
)page";

}  // namespace floptally::models
