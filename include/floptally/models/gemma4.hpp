// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4[] = R"page(
page gemma4 : base.composite prefix Gemma4
with tie_word_embeddings yes, text_config.use_bidirectional_attention flag or text?
inner text .text_config: gemma4_text
inner vision .vision_config: gemma4_vision, optional
inner audio .audio_config: gemma4_audio, optional
vision_units = merged(vision.side)
vision_projector: linear in vision.h, out text.h, as projector embedding_projection, from x, to y, units merged(vision.side)
audio_units = audio.units
audio_projector:
  linear in audio.out, out text.h, as projector embedding_projection, from x, to y, over audio_units, attends audio_units
# Where the config says so, tokens of an image see each other in layers with a window.
sees_images = .text_config.use_bidirectional_attention == "vision"
vision_in_text: core heads text.heads, dim text.dim, sees later_image_tokens(vision.side)  if sees_images and text.slides
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
)page";

}  // namespace floptally::models
