// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma3n[] = R"page(
page gemma3n : base.composite prefix Gemma3n
with vision_soft_tokens_per_image 256, audio_soft_tokens_per_image any?, tie_word_embeddings yes
inner text .text_config: gemma3n_text, always
inner vision .vision_config: gemma3n_vision, always
inner audio .audio_config: gemma3n_audio, always
m      = .vision_soft_tokens_per_image
vision_per_frame = m
# Two tables of words of their own, and a projection from each to the text's width.
vision_projector:
  linear in vision.h, out text.h, applied m, stored 1, as projector embed_vision, from x, to y, per_sequence, norm 2*vision.h
  table count vision.words * vision.h
audio_units = audio.tokens_for
audio_projector:
  linear in audio.h, out text.h, as projector embed_audio, from x, to y, over audio.tokens_for, norm 2*audio.h
  table count audio.words * audio.h
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
require m == 256: .vision_soft_tokens_per_image must be 256, which the tower leaves
)page";

}  // namespace floptally::models
