// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mllama[] = R"page(
page mllama : base.composite prefix Mllama
inner text .text_config: mllama_text_model
inner vision .vision_config: mllama_vision_model
tied   = text.tied
vision_projector: linear in vision.output, out text.h, as projector, from x, to y, bias text.h, prefix 1
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
note yes: an image is a grid of as many frames as it has tiles; keys of a text: those of all its tiles, tiles x (patches + 1)
require given(vision.output): .vision_config.model_type must be "mllama_vision_model"
require vision.stated == vision.output: .vision_config.vision_output_dim must be hidden_size x (1 + intermediate_layers_indices) ({vision.output})
)page";

}  // namespace floptally::models
