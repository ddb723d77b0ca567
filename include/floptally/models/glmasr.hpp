// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glmasr[] = R"page(
page glmasr : qwen2_audio prefix GlmAsr
with tie_word_embeddings yes
inner text .text_config: glmasr.text, older llama
inner audio .audio_config: glmasr_encoder
tied   = .tie_word_embeddings
pooled = 4
wide   = 2 * text.h
audio_projector:
  linear in audio.f, out wide, as projector linear_1, from x, to up, bias wide, over audio_units, attends squares,
         split columns
  linear in wide, out text.h, as projector linear_2, from up, to out, bias text.h, over audio_units, attends squares,
         split rows
require audio.f == 4 * audio.h: .audio_config.intermediate_size must be 4 x hidden_size ({audio.h}), since one token of the text stands for four frames

page glmasr.text : llama
with vocab_size 59264, hidden_size 2048, intermediate_size 6144, num_hidden_layers 28, num_attention_heads 16, num_key_value_heads 4?
)page";

}  // namespace floptally::models
