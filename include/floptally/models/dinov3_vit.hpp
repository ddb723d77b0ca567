// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char dinov3_vit[] = R"page(
page dinov3_vit : base.tower prefix DINOv3ViT
with hidden_size 384, intermediate_size 1536, num_hidden_layers 12, num_attention_heads 6, image_size 224, patch_size 16
with num_channels 3, num_register_tokens 0, use_gated_mlp no, mlp_bias yes
with query_bias yes, key_bias no, value_bias yes, proj_bias yes
with apply_layernorm any?, reshape_hidden_states any?         # of a class that hands out features of layers
bias   = (.query_bias + .key_bias + .value_bias + .proj_bias) * h
more:  norm count 2*h            # a factor per channel on what each half adds
class_tokens = 1 + .num_register_tokens
rows   = .image_size / .patch_size
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (2 + .num_register_tokens) * h       # class token, mask token, registers; positions are rotations
feed:
  gated inner f, bias .mlp_bias * (2*f + h)  if .use_gated_mlp
  mlp inner f, bias .mlp_bias * (f + h)      if not .use_gated_mlp
class Model:
)page";

}  // namespace floptally::models
