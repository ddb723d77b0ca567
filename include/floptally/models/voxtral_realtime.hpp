// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char voxtral_realtime[] = R"page(
page voxtral_realtime : base.composite prefix VoxtralRealtime
with downsample_factor 4, audio_length_per_tok any?, tie_word_embeddings yes, hidden_size any?
inner text .text_config: voxtral_realtime.text, always
inner audio .audio_config: voxtral_realtime_encoder, always
pooled = .downsample_factor
# Each token of the text has a row of frames added to it: a text is as long as its sound.
audio_units = frames(2 * pooled, 2 * pooled)
squares = frame_squares(2 * pooled, 2 * pooled)
audio_projector:
  linear in pooled * audio.h, out text.h, as projector linear_1, from x, to up, split columns, over audio_units, attends squares
  linear in text.h, out text.h, as projector linear_2, from up, to out, split rows, over audio_units, attends squares
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel

page voxtral_realtime.text : voxtral_realtime_text
with vocab_size 131072, hidden_size 3072, intermediate_size 9216, num_hidden_layers 26, head_dim 128?, sliding_window 8192?
)page";

}  // namespace floptally::models
