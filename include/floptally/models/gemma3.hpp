// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma3[] = R"page(
page gemma3 : base.composite prefix Gemma3
with mm_tokens_per_image 256, tie_word_embeddings yes
inner text .text_config: gemma3_text
inner vision .vision_config: siglip_vision_model
wanted = root(.mm_tokens_per_image)               # on each side of an image; a rest at the border is cut off
side   = vision.rows / wanted
tokens = (vision.rows / side) * (vision.rows / side)
vision_per_frame = tokens
vision_projector:
  linear in vision.h, out text.h, applied tokens, stored 1, as projector mm_input_projection, from x, to y, per_sequence, no_lora, norm vision.h
# Tokens of an image see each other, within a window where a layer has one.
vision_in_text: core heads text.heads, dim text.dim, sees later_image_tokens(side)
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
note yes: tokens of an image see each other, as the token_type_ids of the processor say
require given(vision.rows): .vision_config.model_type must be a tower whose images are of one size
require wanted <= vision.rows: .mm_tokens_per_image must be at most the patches of an image ({vision.rows * vision.rows})
require not text.both_ways: .text_config.use_bidirectional_attention must be false or absent
)page";

}  // namespace floptally::models
