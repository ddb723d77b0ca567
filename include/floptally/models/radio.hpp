// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char radio[] = R"page(
page radio : dinov2 prefix Radio
with hidden_size 1280, num_hidden_layers 32, num_attention_heads 16, patch_size 16 or list, max_img_size 2048
with num_cls_tokens 3, num_registers 7 from 0, patch_dim any?, video_patch_dim any?, video_temporal_patch_size number?
with summary_idxs any?
without use_mask_token
class_tokens = .num_cls_tokens + .num_registers
final_norm = 0
most   = .max_img_size / .patch_size[0]         # positions of the largest image, of which a smaller one takes its share
stem:
  linear in .num_channels * .patch_size[0] * .patch_size[0], as patch_embedding, from x, to x, input, no_lora, out h
  positions count (most*most + class_tokens) * h
class Model:
require not given(.video_temporal_patch_size): .video_temporal_patch_size is not supported; must be null: frames of a clip have a matrix of their own
)page";

}  // namespace floptally::models
