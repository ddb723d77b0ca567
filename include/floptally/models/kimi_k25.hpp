// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kimi_k25[] = R"page(
page kimi_k25 : base.composite prefix Kimi_K25
with projection_hidden_size 1152, tie_word_embeddings yes
inner text .text_config: deepseek_v3
inner vision .vision_config: kimi_k25_vision, always
w      = vision.h
side   = vision.side
# A norm of each patch, and two linears over merged ones.
vision_projector: merger side side, out text.h, width w, norm 2*w, bias side*side*w + text.h, pooled
require .projection_hidden_size == w: .projection_hidden_size must be the vision tower's hidden_size ({w})
)page";

}  // namespace floptally::models
