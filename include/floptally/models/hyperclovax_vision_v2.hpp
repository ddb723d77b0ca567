// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hyperclovax_vision_v2[] = R"page(
page hyperclovax_vision_v2 : base.composite prefix HyperCLOVAXVisionV2
with tie_word_embeddings yes
inner text .text_config: hyperclovax
inner vision .vision_config: qwen2_5_vl_vision, older qwen2_5_vl
tied   = .tie_word_embeddings
vision_units = merged(vision.side)
vision_projector: linear in vision.made, out text.h, as projector, from x, to y, units merged(vision.side), bias text.h
require given(vision.made): .vision_config.model_type must be "qwen2_5_vl_vision"
)page";

}  // namespace floptally::models
