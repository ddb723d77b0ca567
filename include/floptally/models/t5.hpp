// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char t5[] = R"page(
page t5 : t5.encoder prefix T5
encoder t5.encoder
with num_decoder_layers number? to 10000
layers = .num_decoder_layers ?? .num_hidden_layers // .num_layers
norms  = 3*h
sees   = causal
cross: cross heads heads, dim dim
class ForConditionalGeneration: head out v, words
class WithLMHeadModel: head out v, words
class Model:
class EncoderModel: as t5.encoder
class ForSequenceClassification:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
class ForTokenClassification: as t5.encoder
class ForQuestionAnswering: head out labels, bias

page t5.encoder : base.decoder prefix T5
with vocab_size 32128, d_model 512, d_ff 2048, d_kv 64, num_layers 6, num_heads 8, relative_attention_num_buckets 32, relative_attention_max_distance any?
with feed_forward_proj "relu", is_gated_act flag absent, tie_word_embeddings yes
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .num_layers
heads  = .num_attention_heads // .num_heads
dim    = .head_dim // .d_kv
f      = .d_ff
gated  = .is_gated_act ?? (.feed_forward_proj begins "gated-")
require times(.feed_forward_proj, "-") == (.feed_forward_proj begins "gated-" ? 1 : 0): .feed_forward_proj must be an activation or "gated-" and one
always_tied = yes
sees   = both
mixer:
  gqa heads heads, dim dim
  positions count .relative_attention_num_buckets * heads  if i == 0
feed:
  gated inner f  if gated
  mlp inner f    if not gated
class EncoderModel:
class ForTokenClassification: head out labels, bias
)page";

}  // namespace floptally::models
