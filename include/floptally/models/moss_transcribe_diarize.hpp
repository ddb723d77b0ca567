// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char moss_transcribe_diarize[] = R"page(
page moss_transcribe_diarize : audioflamingo3 prefix MossTranscribeDiarize
with audio_merge_size 4, audio_chunk_size any?, tie_word_embeddings yes
inner text .text_config: moss_transcribe_diarize.text, absent moss_transcribe_diarize.text, older qwen3
inner audio .audio_config: moss_transcribe_diarize_audio
tied   = .tie_word_embeddings
pooled = .audio_merge_size
# Frames of the tower stacked to one, of each window by itself; the last may be padded.
audio_units = frames(1, 2 * pooled)
squares = frame_squares(1, 2 * pooled)
audio_projector:
  linear in pooled * audio.h, out text.h, as projector linear_1, from x, to up, bias .projector_bias * text.h, split columns,
         over audio_units, attends squares
  linear in text.h, out text.h, as projector linear_2, from up, to out, bias .projector_bias * text.h, split rows,
         over audio_units, attends squares
  norm count 2 * text.h

page moss_transcribe_diarize.text : qwen3
with hidden_size 1024, intermediate_size 3072, num_hidden_layers 28, num_attention_heads 16, num_key_value_heads 8?
)page";

}  // namespace floptally::models
