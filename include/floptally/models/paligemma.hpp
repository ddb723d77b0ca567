// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char paligemma[] = R"page(
page paligemma : base.composite prefix PaliGemma
with projection_dim 2048, tie_word_embeddings yes
with hidden_size any?      # the text's, said again
inner text .text_config: gemma, absent paligemma.text, ignores use_bidirectional_attention
inner vision .vision_config: siglip_vision_model, absent paligemma.siglip
vision_per_frame = vision.rows * (vision.columns ?? vision.rows)
vision_projector: linear in vision.h, out text.h, as projector linear, from x, to y, bias text.h
# Tokens of an image see each other, beyond a window too.
vision_in_text: core heads text.heads, dim text.dim, sees later_image_tokens(1, text.sees)
note yes: tokens of an image see each other; a prompt, which with token_type_ids sees all of itself and of the image, is counted as causal: its length is not known
require given(vision.rows): .vision_config.model_type must be a tower whose images are of one size
require .projection_dim == text.h: .projection_dim must be the text's hidden_size ({text.h})

page paligemma.text : gemma
with vocab_size 257152, hidden_size 2048, intermediate_size 16384, num_hidden_layers 18, num_attention_heads 8
with num_key_value_heads 1

page paligemma.siglip : siglip_vision_model
with hidden_size 1152, intermediate_size 4096, num_hidden_layers 27, num_attention_heads 16, image_size 224, patch_size 14
with vision_use_head no
)page";

}  // namespace floptally::models
