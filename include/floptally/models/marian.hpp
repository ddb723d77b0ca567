// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char marian[] = R"page(
page marian : bart prefix Marian
encoder marian.encoder
with vocab_size 58101
with share_encoder_decoder_embeddings yes, decoder_vocab_size number? from 0
first_norm = 0
positions = .max_position_embeddings
# Null and 0 stand for vocab_size.
own    = (.decoder_vocab_size ?? 0) == 0 ? .vocab_size : .decoder_vocab_size
shares = .share_encoder_decoder_embeddings
v      = shares ? .vocab_size : own
# Shared and not tied: a table on each side, and the shared one. Not shared: the encoder's, besides the decoder's.
once:  table count h * (shares ? tied ? 0 : .vocab_size + own : .vocab_size)
require not lone or own == .vocab_size: .decoder_vocab_size must be vocab_size ({v}) in a decoder on its own
class MTModel: head out v, words
class Model:
class ForCausalLM: as marian.decoder

page marian.encoder : bart.encoder prefix Marian
with vocab_size 58101
first_norm = 0
positions = .max_position_embeddings

page marian.decoder : marian as bart.decoder
)page";

}  // namespace floptally::models
