// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ovis2[] = R"page(
page ovis2 : base.composite prefix Ovis2
with vocab_size number?, hidden_size 1536, tie_word_embeddings flag absent
tied   = .tie_word_embeddings ?? tied_unsaid
inner text .text_config: qwen2
inner vision .vision_config: ovis2_vision
vision_units = merged(vision.side)
# The table of the visual vocabulary, of which a patch takes all words, as likely as they are.
vision_projector:
  linear in vision.all, out text.h, as projector visual_embeddings_table, from x, to y, units merged(vision.side), no_lora
require given(vision.all): .vision_config.model_type must be "ovis2_vision"
require .hidden_size == text.h: .hidden_size must be the text's hidden_size ({text.h})
)page";

}  // namespace floptally::models
