// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pop2piano[] = R"page(
# T5 from frames of a spectrogram to the tokens of a piano; a token says whose style, where one generates.
page pop2piano : t5 prefix Pop2Piano
encoder pop2piano.encoder
with vocab_size 2400, composer_vocab_size 21, feed_forward_proj "gated-gelu", dense_act_fn any?
tied   = no
always_tied = no
once:  table count .composer_vocab_size * h
class ForConditionalGeneration: head out v, words
note yes: the encoder's tokens are frames of a spectrogram

page pop2piano.encoder : t5.encoder
with vocab_size 2400, feed_forward_proj "gated-gelu"
)page";

}  // namespace floptally::models
