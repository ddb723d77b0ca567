// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char internvl_vision[] = R"page(
page internvl_vision : vit prefix InternVL
with hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16
with image_size 448 or list, patch_size 14 or list, attention_bias no, use_qk_norm no, use_mean_pooling yes
with norm_type "layer_norm" of layer_norm rms_norm, use_absolute_position_embeddings yes, use_mask_token no
without head_dim, qkv_bias, encoder_stride, pooler_output_size
dim    = h / heads
divides = yes
bias   = .attention_bias * 3*h + h
qk_norm = .use_qk_norm * 2*h
norms  = 0
final_norm = 0
more:  norm count (.norm_type == "rms_norm" ? 4 : 6) * h    # two norms, and two vectors that scale what is added
once:  norm count 2*h  if not .use_mean_pooling
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (1 + .use_mask_token + .use_absolute_position_embeddings * (rows*columns + 1)) * h
class VisionModel:
)page";

}  // namespace floptally::models
