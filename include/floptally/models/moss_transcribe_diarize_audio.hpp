// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char moss_transcribe_diarize_audio[] = R"page(
page moss_transcribe_diarize_audio : qwen2_audio_encoder prefix MossTranscribeDiarize
with num_mel_bins 80, d_model 1024, encoder_layers 24, encoder_attention_heads 16, encoder_ffn_dim 4096
tokens_for = null
class AudioModel:
)page";

}  // namespace floptally::models
