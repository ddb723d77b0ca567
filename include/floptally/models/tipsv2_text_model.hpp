// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char tipsv2_text_model[] = R"page(
page tipsv2_text_model : clip_text_model prefix Tipsv2
with vocab_size 32000, hidden_size 768, intermediate_size 3072, num_attention_heads 12, max_position_embeddings 64
without projection_dim
sees   = both
positions = 0                     # sines
class TextModel:
)page";

}  // namespace floptally::models
