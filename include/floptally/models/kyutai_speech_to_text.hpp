// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kyutai_speech_to_text[] = R"page(
# Moshi's decoder over words and the codes of the frames that are heard with them, each embedded from one table.
page kyutai_speech_to_text : moshi prefix KyutaiSpeechToText
with vocab_size 4001, hidden_size 2048, num_hidden_layers 48, ffn_dim 11264, num_codebooks 32, codebook_vocab_size 2049
without audio_vocab_size
once:  table count (.num_codebooks * .codebook_vocab_size + 1) * h
class ForConditionalGeneration:
  head out v, words
  note the codec that makes codes of the sound runs before the step and is not counted
class Model:
)page";

}  // namespace floptally::models
