// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_asr[] = R"page(
page qwen3_asr : base.composite prefix Qwen3ASR
with tie_word_embeddings yes, token_classification_bias any?
inner text .text_config: qwen3, absent qwen3_asr.text
inner audio .audio_config: qwen3_asr_encoder
audio_units = audio.units                        # a token for each frame that the tower leaves
audio_projector:
  linear in audio.h, out audio.h, as projector linear_1, from x, to up, bias audio.h, split columns,
         over audio_units, attends audio.attends
  linear in audio.h, out text.h, as projector linear_2, from up, to out, bias text.h, split rows,
         over audio_units, attends audio.attends
require audio.out == text.h: .audio_config.output_dim must be the text's hidden_size ({text.h})

page qwen3_asr.text : qwen3
with hidden_size 2048, intermediate_size 6144, num_hidden_layers 28, num_attention_heads 16, num_key_value_heads 8
with head_dim 128, tie_word_embeddings yes
)page";

}  // namespace floptally::models
