// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char t5gemma[] = R"page(
page t5gemma : t5gemma.side prefix T5Gemma
encoder t5gemma.encoder in .encoder
with tie_word_embeddings yes, vocab_size any?, is_encoder_decoder yes
with decoder.vocab_size 256000, decoder.hidden_size 2304, decoder.intermediate_size 9216, decoder.num_hidden_layers 26
with decoder.num_attention_heads 8, decoder.num_key_value_heads 4, decoder.head_dim 256, decoder.attention_bias no
with decoder.sliding_window 4096?, decoder.layer_types list? of full_attention sliding_attention
without hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, intermediate_size, head_dim
without attention_bias, sliding_window, layer_types
v      = .decoder.vocab_size
h      = .decoder.hidden_size
layers = .decoder.num_hidden_layers
heads  = .decoder.num_attention_heads
kv     = .decoder.num_key_value_heads
dim    = .decoder.head_dim
f      = .decoder.intermediate_size
window = .decoder.sliding_window
kinds  = .decoder.layer_types
biased = .decoder.attention_bias
norms  = 6*h
sees   = slides ? window(window) : causal
cross: cross heads heads, kv kv, dim dim, context encoder.h, bias bias
once:  table count encoder.v * encoder.h
class ForConditionalGeneration: head out v, words
class Model:
class ForSequenceClassification: head out labels, bias
class ForTokenClassification: head out labels, bias
require .is_encoder_decoder: .is_encoder_decoder must be true or absent
require not given(kinds) or size(kinds) == layers: .decoder.layer_types must have {layers} elements

page t5gemma.side : base.decoder prefix T5Gemma
slides = given(kinds) ? kinds[i] == "sliding_attention" : i % 2 == 0
norms  = 4*h
bias   = biased ? (heads + 2*kv) * dim + h : 0
divides = yes

page t5gemma.encoder : t5gemma.side prefix T5Gemma
with vocab_size 256000, hidden_size 2304, intermediate_size 9216, num_hidden_layers 26, num_attention_heads 8
with num_key_value_heads 4, head_dim 256, attention_bias no, sliding_window 4096?
with layer_types list? each of full_attention sliding_attention
kv     = .num_key_value_heads
dim    = .head_dim
window = .sliding_window
kinds  = .layer_types
biased = .attention_bias
sees   = slides ? around(window, window) : both
)page";

}  // namespace floptally::models
