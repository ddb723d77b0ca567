// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char blip_vision_model[] = R"page(
page blip_vision_model : blip_2_vision_model prefix Blip
with hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12, image_size 384, patch_size 16
with projection_dim any?          # of a class with a projection
without qkv_bias
)page";

}  // namespace floptally::models
