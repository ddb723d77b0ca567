// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cosmos3_edge_vision[] = R"page(
# The frames of a clip are images; each square of patches becomes a token in cosmos3_edge.
page cosmos3_edge_vision : siglip2_vision_model prefix Cosmos3Edge
with hidden_size 1152, intermediate_size 4304, num_hidden_layers 27, num_attention_heads 16, spatial_merge_size 2
without vision_use_head
side   = .spatial_merge_size
class VisionModel:
)page";

}  // namespace floptally::models
