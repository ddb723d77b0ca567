// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char muse_glimmer_text[] = R"page(
page muse_glimmer_text : gemma2 prefix MuseGlimmer
with vocab_size 202048, hidden_size 6656, intermediate_size 19968, num_hidden_layers 52, num_attention_heads 32
with num_key_value_heads 2, head_dim 128, sliding_window 2048?, tie_word_embeddings no
with layer_rope_theta any?
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (layers - 1 - i) % 4 != 0
mixer: gqa heads heads, kv kv, dim dim, gate heads*dim, bias bias
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
