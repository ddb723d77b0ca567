// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pegasus[] = R"page(
page pegasus : bart prefix Pegasus
encoder pegasus.encoder
first_norm = 0
final_norm = 2*h
positions = .max_position_embeddings
classes ForConditionalGeneration Model
class ForCausalLM: as pegasus.decoder

page pegasus.encoder : bart.encoder prefix Pegasus
first_norm = 0
final_norm = 2*h
positions = .max_position_embeddings

page pegasus.decoder : pegasus as bart.decoder
)page";

}  // namespace floptally::models
