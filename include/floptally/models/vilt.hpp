// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vilt[] = R"page(
# One stream: the patches of an image and a class token stand behind the words of a text, and are in its length.
page vilt : base.composite prefix Vilt
with max_image_length -1 from -16777216, num_images any?
inner text .text_config: vilt.text, always, flat
inner vision .vision_config: vilt.pixels, always, flat
vision_per_token = 1
vision_per_frame = 1
class ForQuestionAnswering: text ForQuestionAnswering
class ForImageAndTextRetrieval: text ForImageAndTextRetrieval
class Model: text Model
require .max_image_length < 0: .max_image_length must be -1: else patches are left out at random
note yes: a text's length is that of its words, the patches of its image and a class token

page vilt.text : bert prefix Vilt
with max_position_embeddings 40, modality_type_vocab_size 2, qkv_bias yes
without is_decoder, embedding_size
bias   = .qkv_bias * 3*h + h
final_norm = 2*h
positions = .max_position_embeddings + .type_vocab_size + .modality_type_vocab_size
class ForQuestionAnswering:
  norm count 4*h
  head out h, bias, per_sequence
  head out 2*h, bias, per_sequence
  head in 2*h, out labels, bias, per_sequence
class ForImageAndTextRetrieval:
  head out h, bias, per_sequence
  head out 1, bias, per_sequence
class Model: head out h, bias, per_sequence, detached

# Nothing but patches, and where they stand.
page vilt.pixels : base.tower
with hidden_size 768, image_size 384, patch_size 32, num_channels 3
without num_hidden_layers, num_attention_heads, intermediate_size
rows   = .image_size / .patch_size
heads  = 1
layers = 1
norms  = 0
final_norm = 0
mixer:
feed:
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (rows*rows + 2) * h
class Model:
)page";

}  // namespace floptally::models
