// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char blenderbot_small[] = R"page(
page blenderbot-small : bart prefix BlenderbotSmall
encoder blenderbot-small.encoder
with d_model 512, encoder_layers 8, encoder_ffn_dim 2048, max_position_embeddings 512
with decoder_layers 8, decoder_ffn_dim 2048
positions = .max_position_embeddings
classes ForConditionalGeneration Model
class ForCausalLM: as blenderbot-small.decoder

page blenderbot-small.encoder : bart.encoder prefix BlenderbotSmall
with d_model 512, encoder_layers 8, encoder_ffn_dim 2048, max_position_embeddings 512
positions = .max_position_embeddings

page blenderbot-small.decoder : blenderbot-small as bart.decoder
)page";

}  // namespace floptally::models
