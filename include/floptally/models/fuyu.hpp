// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char fuyu[] = R"page(
# Patches of pixels are words of the text: no tower, but a linear of each.
page fuyu : base.composite prefix Fuyu
with patch_size 30, num_channels 3
with image_size any?
inner text .text_config: persimmon, flat, absent fuyu.text
inner vision .vision_config: fuyu.patches, always
tied   = .tie_word_embeddings
vision_per_token = 1
vision_projector: linear in .num_channels * .patch_size * .patch_size, out text.h, as projector vision_embed_tokens, from x, to y, input, bias text.h
class ForCausalLM: text ForCausalLM
class Model: text Model

page fuyu.text : persimmon
with vocab_size 262144, hidden_size 4096, intermediate_size 16384, num_hidden_layers 36, num_attention_heads 64

# Nothing: a patch goes to the text as it is.
page fuyu.patches : base.tower
h      = 1
heads  = 1
layers = 1
norms  = 0
final_norm = 0
mixer:
feed:
stem:  positions count 0
class Model:
)page";

}  // namespace floptally::models
