// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char git[] = R"page(
# The tokens of an image stand before the text's, and see each other: a text's length has them.
page git : base.composite prefix Git
with vision_config object?, num_image_with_embedding number?
inner text .text_config: git.text, always, flat
inner vision .vision_config: git_vision_model, always
tied   = .tie_word_embeddings
vision_per_frame = vision.rows * vision.rows + 1
vision_projector:
  linear in vision.h, out text.h, as projector visual_projection, from x, to y, prefix 1, bias text.h, norm 2 * text.h
  positions count (.num_image_with_embedding ?? 0) * vision.h
class ForCausalLM: text ForCausalLM
class Model: text Model
note yes: every text begins with {.num_image_with_embedding ?? 1} images, whose tokens see each other

page git.text : bert prefix Git
with num_hidden_layers 6, max_position_embeddings 1024, tie_word_embeddings no
with num_image_with_embedding number?, vision_config.image_size 224, vision_config.patch_size 16
without type_vocab_size, is_decoder, embedding_size
positions = .max_position_embeddings
side   = .vision_config.image_size / .vision_config.patch_size
tokens = (side*side + 1) * (.num_image_with_embedding ?? 1)
sees   = prefix_lm(tokens)
class ForCausalLM: head out v, bias, words
class Model:
)page";

}  // namespace floptally::models
