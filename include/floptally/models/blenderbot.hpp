// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char blenderbot[] = R"page(
page blenderbot : bart prefix Blenderbot
encoder blenderbot.encoder
with vocab_size 8008, d_model 2560, encoder_layers 2, encoder_attention_heads 32, encoder_ffn_dim 10240
with max_position_embeddings 128
with decoder_layers 24, decoder_attention_heads 32, decoder_ffn_dim 10240
first_norm = 0
final_norm = 2*h
positions = .max_position_embeddings
classes ForConditionalGeneration Model
class ForCausalLM: as blenderbot.decoder

page blenderbot.encoder : bart.encoder prefix Blenderbot
with vocab_size 8008, d_model 2560, encoder_layers 2, encoder_attention_heads 32, encoder_ffn_dim 10240
with max_position_embeddings 128
first_norm = 0
final_norm = 2*h
positions = .max_position_embeddings

page blenderbot.decoder : blenderbot as bart.decoder
)page";

}  // namespace floptally::models
