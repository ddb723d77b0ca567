// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_audio_encoder[] = R"page(
page qwen2_audio_encoder : whisper.encoder prefix Qwen2Audio
with d_model 1280, encoder_layers 32, encoder_attention_heads 20, encoder_ffn_dim 5120, num_mel_bins 128
without vocab_size, tie_word_embeddings, use_weighted_layer_sum, classifier_proj_size
f      = .intermediate_size // .encoder_ffn_dim
once:
class Encoder:
)page";

}  // namespace floptally::models
