// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char canary[] = R"page(
page canary : cohere_asr prefix Canary
encoder canary.encoder in .encoder_config
with vocab_size 16384, tie_word_embeddings yes
with decoder_config.vocab_size 16384, decoder_config.hidden_size 1024, decoder_config.intermediate_size 4096
with decoder_config.num_hidden_layers 8, decoder_config.num_attention_heads 8, decoder_config.num_key_value_heads 8
with decoder_config.head_dim 128, decoder_config.attention_bias yes
without hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim, max_position_embeddings, attention_bias
h      = .decoder_config.hidden_size
f      = .decoder_config.intermediate_size
layers = .decoder_config.num_hidden_layers
heads  = .decoder_config.num_attention_heads
kv     = .decoder_config.num_key_value_heads
dim    = .decoder_config.head_dim
bias   = .decoder_config.attention_bias ? (heads + 2*kv) * dim + h : 0
positions = 0                                     # computed
once:
require .decoder_config.vocab_size == v: .decoder_config.vocab_size must be vocab_size ({v})
require h % heads == 0: .decoder_config.num_attention_heads must divide hidden_size ({h})
require encoder.h == h: .encoder_config.hidden_size must be that of decoder_config ({h}), whose layers read what the encoder leaves

page canary.encoder : parakeet_encoder
with num_hidden_layers 32, num_mel_bins 128, model_type "parakeet_encoder" of parakeet_encoder
)page";

}  // namespace floptally::models
