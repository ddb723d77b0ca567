// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_vl_vision[] = R"page(
page qwen3_vl_vision : qwen3_5_vision prefix Qwen3VL
with deepstack_visual_indexes [8, 16, 24]
deep   = .deepstack_visual_indexes      # layers whose patches are added to a layer of the text, each by a merger of its own
after:
  merger side side, out .out_hidden_size, norm 2*h, bias side*side*h + .out_hidden_size
  merger side side, out .out_hidden_size, norm 2*side*side*h, bias side*side*h + .out_hidden_size, times size(deep)
require largest(deep) < layers: .deepstack_visual_indexes must be of layers, of which there are {layers}
require times(deep, i) < 2: .deepstack_visual_indexes must list a layer once
)page";

}  // namespace floptally::models
