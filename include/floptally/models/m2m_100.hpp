// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char m2m_100[] = R"page(
page m2m_100 : bart prefix M2M100
encoder m2m_100.encoder
with vocab_size 128112
without max_position_embeddings
first_norm = 0
final_norm = 2*h
positions = 0                                      # computed
drops  = 0.05
classes ForConditionalGeneration Model

page m2m_100.encoder : bart.encoder prefix M2M100
with vocab_size 128112
without max_position_embeddings
first_norm = 0
final_norm = 2*h
positions = 0
)page";

}  // namespace floptally::models
