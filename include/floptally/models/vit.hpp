// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vit[] = R"page(
page vit : base.tower prefix ViT
with hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12, head_dim number absent
with image_size 224 or list of numbers, patch_size 16 or list of numbers, num_channels 3, qkv_bias yes
with encoder_stride 16, pooler_output_size number?
dim    = .head_dim ?? h / heads
divides = no
bias   = .qkv_bias * 3*heads*dim + h
class_tokens = 1
rows    = .image_size[0] / .patch_size[0]      # a pair is [height, width]
columns = .image_size[1] / .patch_size[1]
learned = 2                                    # rows: the class token, and its position
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (rows*columns + learned) * h
class ForImageClassification: head out labels, bias, per_sequence
class Model: head out .pooler_output_size ?? h, bias, per_sequence, detached
class ForMaskedImageModeling:
  head out .encoder_stride * .encoder_stride * .num_channels, bias      # the pixels of a patch
  positions count h                                                     # a token that stands for a masked patch
require not is_list(.image_size) or size(.image_size) == 2: .image_size must be an integer or [height, width]
require not is_list(.patch_size) or size(.patch_size) == 2: .patch_size must be an integer or [height, width]
)page";

}  // namespace floptally::models
