// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_5_vision[] = R"page(
page qwen3_5_vision : qwen2_5_vl_vision prefix Qwen3_5
with hidden_size 1152, intermediate_size 4304, depth 27, patch_size 16, num_position_embeddings 2304
without window_size, fullatt_block_indexes
norms  = 4*h
full   = yes
stem:
  patches channels .in_channels, side .patch_size, frames .temporal_patch_size, bias h
  positions count .num_position_embeddings * h
feed:  mlp inner f, bias f + h
after: merger side side, out .out_hidden_size, norm 2*h, bias side*side*h + .out_hidden_size
class VisionModel:
)page";

}  // namespace floptally::models
