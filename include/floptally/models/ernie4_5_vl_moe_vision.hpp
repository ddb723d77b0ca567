// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ernie4_5_vl_moe_vision[] = R"page(
page ernie4_5_vl_moe_vision : qwen2_5_vl_vision prefix Ernie4_5_VLMoe
with hidden_size 1280, intermediate_size 5120, temporal_merge_size 2
without temporal_patch_size, window_size, fullatt_block_indexes, out_hidden_size
norms  = 4*h
final_norm = 2*h
full   = yes
pair   = .temporal_merge_size
tokens_for = null
stem:  patches channels .in_channels, side .patch_size
feed:  mlp inner f, bias f + h
after:
class VisionTransformerPretrainedModel:
)page";

}  // namespace floptally::models
