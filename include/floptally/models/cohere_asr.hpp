// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cohere_asr[] = R"page(
# A conformer that hears, and a decoder that reads what it leaves, each frame once projected to its width.
page cohere_asr : base.decoder prefix CohereAsr
encoder cohere_asr.encoder in .encoder_config
with vocab_size 16384, hidden_size 1024, intermediate_size 4096, num_hidden_layers 8, num_attention_heads 8
with num_key_value_heads number?, head_dim number?, max_position_embeddings 1024, attention_bias yes
kv     = .num_key_value_heads ?? heads
dim    = .head_dim ?? h / heads
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
norms  = 6*h
first_norm = 2*h
final_norm = 2*h
positions = .max_position_embeddings
cross: cross heads heads, kv kv, dim dim, bias bias
feed:  mlp inner f, bias f + h
once:
  linear in encoder.h, out h, of_keys, as cross_attention projection, from context
  bias count h
class ForConditionalGeneration: head out v, words, bias
class Model:

page cohere_asr.encoder : parakeet_encoder
with hidden_size 1280, intermediate_size 5120, num_hidden_layers 48, num_mel_bins 128, model_type "parakeet_encoder" of parakeet_encoder
)page";

}  // namespace floptally::models
