// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char llama4[] = R"page(
page llama4 : base.composite prefix Llama4
inner text .text_config: llama4_text
inner vision .vision_config: llama4_vision_model
tied   = text.tied
vision_units = merged(vision.side)
vision_projector: linear in vision.out, out text.h, as projector linear_1, from x, to y, units merged(vision.side),
         split columns
class ForConditionalGeneration: text ForCausalLM
require given(vision.out): .vision_config.model_type must be "llama4_vision_model"
require vision.stated == vision.out: .vision_config.vision_output_dim must be projector_output_dim ({vision.out})
)page";

}  // namespace floptally::models
