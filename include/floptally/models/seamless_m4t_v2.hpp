// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char seamless_m4t_v2[] = R"page(
page seamless_m4t_v2 : seamless_m4t prefix SeamlessM4Tv2
encoder seamless_m4t_v2.speech
with char_vocab_size any?, max_position_embeddings any?
class ForSpeechToText: head out v, words
class ForTextToText: as seamless_m4t_v2.text

page seamless_m4t_v2.text : seamless_m4t.text prefix SeamlessM4Tv2

page seamless_m4t_v2.speech : seamless_m4t.speech prefix SeamlessM4Tv2
with position_embeddings_type "relative_key", left_max_position_embeddings 64 from 0, right_max_position_embeddings 8 from 0
with speech_encoder_chunk_size 20000?, speech_encoder_left_chunk_num any?
relative = no
by_distance = .position_embeddings_type == "relative_key"
distances = .left_max_position_embeddings + .right_max_position_embeddings + 1
note given(.speech_encoder_chunk_size): frames see each other within {.speech_encoder_chunk_size} of a clip: longer ones are counted as if all did
)page";

}  // namespace floptally::models
