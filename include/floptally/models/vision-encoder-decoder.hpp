// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vision_encoder_decoder[] = R"page(
# Any tower before any decoder, whose layers attend what it makes: TrOCR, Donut, Nougat. The keys of a text are the tokens
# that the tower leaves of its image.
page vision-encoder-decoder : base.composite prefix VisionEncoderDecoder
inner text .decoder: bert, ignores add_cross_attention
inner vision .encoder: vit, class Model
tied   = text.tied
joined = vision.h != text.h and not given(text.said_context)
vision_projector: linear in vision.h, out text.h, as projector enc_to_dec_proj, from x, to y, prefix vision.class_tokens ?? 0,
         over vision.left ?? null, bias text.h  if joined
class Model: text ForCausalLMOfImages
require not given(text.said_context) or text.said_context == vision.h: .decoder.cross_attention_hidden_size must be the encoder's hidden_size ({vision.h})
note yes: keys of a text: the tokens that the tower leaves of its image
)page";

}  // namespace floptally::models
