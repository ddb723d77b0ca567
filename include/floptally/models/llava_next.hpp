// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char llava_next[] = R"page(
# Tiles, of which each is an image. Padding is cut out of what they make, so that their number says not how many tokens there are.
page llava_next : llava prefix LlavaNext
tied   = .tie_word_embeddings
vision_per_token = null
vision_per_frame = null
require keeps <= 0: .vision_feature_select_strategy must be "default": a class token has no place among the patches
vision_projector:
  linear in count(features) * vision.h, out text.h, as projector linear_1, from x, to up, bias .multimodal_projector_bias * text.h,
         split columns
  linear in text.h, out text.h, as projector linear_2, from up, to out, bias .multimodal_projector_bias * text.h,
         split rows
  positions count text.h                          # stands after each row of an image
)page";

}  // namespace floptally::models
