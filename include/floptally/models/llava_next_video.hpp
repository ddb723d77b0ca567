// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char llava_next_video[] = R"page(
page llava_next_video : llava_next prefix LlavaNextVideo
with spatial_pool_mode "average" of average max, spatial_pool_stride 2 to 65535
tied   = .tie_word_embeddings or text.tied
pools  = pooled_clips(.spatial_pool_stride)       # frames of clips before the projector; tiles are not
vision_projector:
  linear in count(features) * vision.h, out text.h, as projector linear_1, from x, to up, units pools, bias .multimodal_projector_bias * text.h,
         split columns
  linear in text.h, out text.h, as projector linear_2, from up, to out, units pools, bias .multimodal_projector_bias * text.h,
         split rows
  positions count text.h
)page";

}  // namespace floptally::models
