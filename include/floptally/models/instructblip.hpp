// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char instructblip[] = R"page(
# BLIP-2, whose queries are steered by the words of an instruction.
page instructblip : blip-2 prefix InstructBlip
with image_token_index any?, qformer_config.vocab_size 30522, qformer_config.max_position_embeddings 512
with qformer_config.encoder_hidden_size 1408
without image_text_hidden_size, qformer_config.use_qformer_text_input
inner vision .vision_config: instructblip_vision_model, always
steered = yes
known  = (.qformer_config.vocab_size + .qformer_config.max_position_embeddings) * h
require .qformer_config.encoder_hidden_size == vision.h: .qformer_config.encoder_hidden_size must be the tower's hidden_size ({vision.h})
note yes: instructions enter the queries of each image: add_measured("prompt_tokens", …) the sum of their tokens over images, "prompt_squares" of their squares
)page";

}  // namespace floptally::models
