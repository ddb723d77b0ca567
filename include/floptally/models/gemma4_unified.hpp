// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4_unified[] = R"page(
page gemma4_unified : gemma4 prefix Gemma4Unified
with text_config.use_bidirectional_attention "vision" or flag?
inner text .text_config: gemma4_unified_text
inner vision .vision_config: gemma4_unified.vision, optional, always
inner audio .audio_config: gemma4_unified.audio, optional, always
vision_units = merged(1)
vision_projector: linear in vision.out, out text.h, as projector embedding_projection, from x, to y
audio_units = frames(1, 1)
audio_projector: linear in audio.h, out text.h, as projector embedding_projection, from x, to y, input
# Tokens of an image see each other in every layer.
vision_in_text: core heads text.heads, dim text.dim, sees later_image_tokens(1, text.sees)  if sees_images
require not given(vision.h) or vision.out == vision.h: .vision_config.output_proj_dims must be mm_embed_dim ({vision.h}), which it projects

# Squares of pixels, each of which one product makes a token: no tower behind it. A patch of a grid is such a square.
page gemma4_unified.vision : base.tower prefix Gemma4Unified
with mm_embed_dim 3840, patch_size 16, pooling_kernel_size 3, mm_posemb_size 1120, output_proj_dims 3840
without hidden_size, intermediate_size, num_hidden_layers, num_attention_heads
h      = .mm_embed_dim
f      = h
layers = 1                                        # that multiplies nothing
heads  = 1
norms  = 0
mixer:
feed:
out    = .output_proj_dims
pixels = 3 * .patch_size * .patch_size * .pooling_kernel_size * .pooling_kernel_size
final_norm = 0
tokens_for = merged(1)
stem:
  linear in pixels, out h, as patch_embedding patch_dense, from x, norm 2*pixels, bias h, split repeated
  norm count 4*h
  positions count 2 * .mm_posemb_size * h         # of rows and of columns
class Model:

# Pieces of the waveform, each of which is a token: nothing before the projector. A frame is such a piece.
page gemma4_unified.audio : base.tower prefix Gemma4Unified
with audio_embed_dim 640
without hidden_size, intermediate_size, num_hidden_layers, num_attention_heads
stands = "audio"
h      = .hidden_size // .audio_embed_dim
f      = h
layers = 1                                        # that multiplies nothing
heads  = 1
norms  = 0
mixer:
feed:
final_norm = 0
tokens_for = frames(1, 1)
stem:  norm count 0
class Model:
)page";

}  // namespace floptally::models
