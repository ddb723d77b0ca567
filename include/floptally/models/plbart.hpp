// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char plbart[] = R"page(
page plbart : bart prefix PLBart
encoder plbart.encoder
with vocab_size 50005, d_model 768, encoder_layers 6, encoder_attention_heads 12, encoder_ffn_dim 3072
with decoder_layers 6, decoder_attention_heads 12, decoder_ffn_dim 3072
usual  = 2
classes ForConditionalGeneration Model
class ForCausalLM: as plbart.decoder
classes ForSequenceClassification

page plbart.encoder : bart.encoder prefix PLBart
with vocab_size 50005, d_model 768, encoder_layers 6, encoder_attention_heads 12, encoder_ffn_dim 3072

page plbart.decoder : plbart as bart.decoder
)page";

}  // namespace floptally::models
