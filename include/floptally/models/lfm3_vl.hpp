// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lfm3_vl[] = R"page(
page lfm3_vl : lfm2_vl prefix Lfm3Vl
with projector_hidden_size 4096, tie_word_embeddings yes
without downsample_factor, projector_use_layernorm, tie_embedding
inner text .text_config: lfm3
inner vision .vision_config: lfm3_vl_vision, always
tied   = .tie_word_embeddings
side   = vision.side
normed = vision.h
)page";

}  // namespace floptally::models
