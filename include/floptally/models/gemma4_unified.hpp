// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4_unified[] = R"page(
page gemma4_unified : gemma4 prefix Gemma4Unified
with text_config.use_bidirectional_attention "vision" or flag?
inner text .text_config: gemma4_unified_text
inner vision .vision_config: gemma4_unified_vision, optional
inner audio .audio_config: gemma4_unified_audio, optional
vision_units = merged(1)
vision_projector: linear in vision.out, out text.h, as projector embedding_projection, from x, to y
audio_units = frames(1, 1)
audio_projector: linear in audio.h, out text.h, as projector embedding_projection, from x, to y, input
# Tokens of an image see each other in every layer.
vision_in_text: core heads text.heads, dim text.dim, sees later_image_tokens(1, text.sees)  if sees_images
require not given(vision.h) or vision.out == vision.h: .vision_config.output_proj_dims must be mm_embed_dim ({vision.h}), which it projects
)page";

}  // namespace floptally::models
