// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char video_llama_3_vision[] = R"page(
page video_llama_3_vision : base.tower prefix VideoLlama3
with hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12, patch_size 16, num_channels 3
bias   = 4*h
per_token = 1                     # the page counts merge_sizes of 1
stem:  patches channels .num_channels, side .patch_size, bias h
class VisionModel:
note yes: the projector is counted for every patch: merge_sizes of 1, as of images
)page";

}  // namespace floptally::models
