// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char paddleocr_vl[] = R"page(
page paddleocr_vl : base.composite prefix PaddleOCRVL
with tie_word_embeddings yes, text_config object?
inner text .text_config: paddleocr_vl.text, always, flat
inner vision .vision_config: paddleocr_vl.vision, always
# Keys that stand beside the outer ones leave the text's own flag at its default.
tied   = .tie_word_embeddings or not given(.text_config) or text.tied
# Two linears over merged patches, after a norm.
vision_projector: merger side vision.side, out text.h, width vision.h, norm 2*vision.h, bias vision.side*vision.side*vision.h + text.h
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel

page paddleocr_vl.text : llama prefix PaddleOCR
with vocab_size 103424, hidden_size 1024, intermediate_size 3072, num_hidden_layers 18, num_attention_heads 16
with num_key_value_heads 2?, head_dim 128?, use_bias flag?, tie_word_embeddings yes
without attention_bias, mlp_bias
divides = no
biased = .use_bias ?? no
bias   = biased * ((heads + 2*kv) * dim + h)
feed:  gated inner f, bias biased * (2*f + h)
class ForConditionalGeneration: head out v, words
class TextModel:

page paddleocr_vl.vision : base.tower prefix PaddleOCR
with hidden_size 1152, intermediate_size 4304, num_hidden_layers 27, num_attention_heads 16, image_size 384, patch_size 14
with num_channels 3, spatial_merge_size 2
bias   = 4*h
side   = .spatial_merge_size
square = .image_size / .patch_size
tokens_for = merged(side)
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count square*square * h
class VisionModel:
)page";

}  // namespace floptally::models
