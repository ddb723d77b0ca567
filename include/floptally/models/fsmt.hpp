// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char fsmt[] = R"page(
page fsmt : bart prefix FSMT
encoder fsmt.encoder
with src_vocab_size 42024, tgt_vocab_size 42024, tie_word_embeddings no, pad_token_id 1 from 0
without vocab_size
v      = .vocab_size // .tgt_vocab_size
first_norm = 0
positions = .max_position_embeddings + .pad_token_id + 1       # sines, which the class keeps as weights
# The language that is read has words of its own.
once:  table count tied ? 0 : .src_vocab_size * h
class ForConditionalGeneration: head out v, words
class Model: head out v, words

page fsmt.encoder : bart.encoder prefix FSMT
with tgt_vocab_size 42024, tie_word_embeddings no, pad_token_id 1 from 0
without vocab_size
v      = .vocab_size // .tgt_vocab_size
first_norm = 0
positions = .max_position_embeddings + .pad_token_id + 1
)page";

}  // namespace floptally::models
