// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm4v_vision[] = R"page(
page glm4v_vision : qwen2_5_vl_vision prefix Glm4v
with hidden_size 1536, intermediate_size 13696, depth 24, num_heads 12, image_size 336, out_hidden_size 4096, attention_bias no
without window_size, fullatt_block_indexes
first_norm = h
final_norm = h
bias   = .attention_bias * 3*h
full   = yes
rowful = .image_size / .patch_size
out    = .out_hidden_size
stem:
  patches channels .in_channels, side .patch_size, frames .temporal_patch_size, bias h
  positions count rowful*rowful * h
feed:  gated inner out                          # as wide as the text; intermediate_size is the merger's
after: gated_merger side side, inner f, out out, norm 2*out, bias out
class VisionModel:
)page";

}  // namespace floptally::models
