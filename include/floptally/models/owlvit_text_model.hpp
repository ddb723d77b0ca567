// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char owlvit_text_model[] = R"page(
page owlvit_text_model : clip_text_model prefix OwlViT
with max_position_embeddings 16
)page";

}  // namespace floptally::models
