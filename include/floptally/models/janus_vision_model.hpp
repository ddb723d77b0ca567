// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char janus_vision_model[] = R"page(
page janus_vision_model : siglip_vision_model prefix Janus
with hidden_size 1024, num_hidden_layers 24, num_attention_heads 16, image_size 384, mlp_ratio 4.0, attention_bias yes
with use_qk_norm no, projection_dim 2048, depth 2
with num_image_tokens any?        # said by files
without intermediate_size, vision_use_head
f      = floor(h * .mlp_ratio)
bias   = .attention_bias * 3*h + h
wide   = .projection_dim          # of janus' projector, and its linears behind the first
deep   = .depth - 1
class VisionModel:
require not .use_qk_norm: .use_qk_norm must be false: the norms of the class do not fit its heads
)page";

}  // namespace floptally::models
