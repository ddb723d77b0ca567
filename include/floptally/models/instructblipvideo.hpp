// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char instructblipvideo[] = R"page(
# Each frame of a clip is an image, of which the text has all queries.
page instructblipvideo : instructblip prefix InstructBlipVideo
with video_token_index any?
inner vision .vision_config: instructblipvideo_vision_model, always
)page";

}  // namespace floptally::models
