// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char clip_text_model[] = R"page(
page clip_text_model : base.decoder prefix CLIP
with vocab_size 49408, hidden_size 512, intermediate_size 2048, num_hidden_layers 12, num_attention_heads 8
with max_position_embeddings 77, projection_dim any?     # the latter of a class with a projection
norms  = 4*h
final_norm = 2*h
bias   = 4*h
divides = yes
positions = .max_position_embeddings
feed:  mlp inner f, bias f + h
class TextModel:
)page";

}  // namespace floptally::models
