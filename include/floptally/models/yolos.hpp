// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char yolos[] = R"page(
page yolos : vit prefix Yolos
with image_size [512, 864] or number, patch_size 16, num_detection_tokens 100, use_mid_position_embeddings yes
without head_dim, encoder_stride, pooler_output_size
divides = yes
detect = .num_detection_tokens
class_tokens = 1 + detect
patches_by_area = .image_size[0] * .image_size[1] / (.patch_size * .patch_size)
between = .use_mid_position_embeddings ? (layers - 1) * (class_tokens + patches_by_area) : 0      # layers
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (rows*columns + 2*class_tokens + between) * h
# Two MLPs of three matrices over the detection tokens: classes (and none), and boxes.
class ForObjectDetection:
  linear in h, out h, applied detect, stored 1, per_sequence, head, as lm_head, bias h, times 4, split replicated
  linear in h, out labels + 1, applied detect, stored 1, per_sequence, head, as lm_head, bias labels + 1,
         split replicated
  linear in h, out 4, applied detect, stored 1, per_sequence, head, as lm_head, bias 4, split replicated
class Model: head out h, bias, per_sequence, detached
)page";

}  // namespace floptally::models
