// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char blip[] = R"page(
# A decoder of captions, whose layers attend an image.
page blip : base.composite prefix Blip
with tie_word_embeddings yes, projection_dim any?, image_text_hidden_size any?     # the latter two of other classes
inner text .text_config: blip.text, always
inner vision .vision_config: blip_vision_model, always
tied   = .tie_word_embeddings or text.tied
class ForConditionalGeneration: text LMHeadModel
require text.context == vision.h: .text_config.encoder_hidden_size must be the tower's hidden_size ({vision.h})
note yes: keys of a text: the patches of its image and a class token

page blip.text : bert prefix BlipText
with vocab_size 30524, encoder_hidden_size 768, num_attention_heads 8, is_decoder yes, projection_dim any?
without type_vocab_size
sees   = causal
norms  = 6*h
positions = .max_position_embeddings
context = .encoder_hidden_size
cross: cross heads heads, dim dim, context context, bias bias
class LMHeadModel:
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
require .is_decoder: .is_decoder must be true: the image is attended by a decoder
)page";

}  // namespace floptally::models
