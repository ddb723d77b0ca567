// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen2_vl[] = R"page(
page qwen2_vl : base.composite prefix Qwen2VL
inner text .text_config: qwen2_vl_text, always, flat
inner vision .vision_config: qwen2_vl.vision, always
tied   = .tie_word_embeddings or text.tied
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel

page qwen2_vl.vision : qwen2_5_vl_vision prefix Qwen2VL
with embed_dim 1280, mlp_ratio 4
without intermediate_size, window_size, fullatt_block_indexes, out_hidden_size
divides = no
bias   = 3*heads*dim + h
h      = .embed_dim
f      = .mlp_ratio * h
norms  = 4*h
full   = yes
feed:  mlp inner f, bias f + h
after: merger side side, out .hidden_size, norm 2*h, bias side*side*h + .hidden_size
class VisionModel:
)page";

}  // namespace floptally::models
