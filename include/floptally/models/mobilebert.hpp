// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mobilebert[] = R"page(
page mobilebert : bert prefix MobileBert
with embedding_size 128, hidden_size 512, intermediate_size 512, num_hidden_layers 24, num_attention_heads 4
with use_bottleneck yes, use_bottleneck_attention no, key_query_shared_bottleneck yes, intra_bottleneck_size 128
with true_hidden_size number?, num_feedforward_networks 4 to 10000, trigram_input yes, classifier_activation yes
with normalization_type any?                               # both kinds have a scale and a shift per channel
embedding = .embedding_size
narrow = .use_bottleneck ? .intra_bottleneck_size : h     # the width inside a layer
dim    = narrow / heads
queries = .use_bottleneck_attention ? narrow : h           # what values are made of
shared = .key_query_shared_bottleneck
divides = no
norms  = 0
first_norm = 0
positions = 0
mixer:
  linear in h, out narrow, applied 1, stored 1, as bottleneck, bias narrow, norm 2*narrow  if .use_bottleneck
  linear in h, out narrow, applied not .use_bottleneck_attention, stored 1, as bottleneck, bias narrow,
         norm 2*narrow  if .use_bottleneck and shared
  linear in narrow, out narrow, applied 2, as attention.qkv, split heads heads
  linear in queries, out narrow, as attention.qkv, bias 3*narrow, split heads heads
  core heads heads, dim dim
  linear in narrow, out narrow, as attention.output, bias narrow, norm 2*narrow, split heads heads
feed:
  linear in narrow, out f, as mlp, bias f, times .num_feedforward_networks, split even
  linear in f, out narrow, as mlp, bias narrow, norm 2*narrow, times .num_feedforward_networks, split even
  linear in narrow, out h, as bottleneck, bias h, norm 2*h  if .use_bottleneck
# A token's embedding stands beside those of its neighbours before it is widened.
once:
  linear in (.trigram_input ? 3 : 1) * embedding, out h, applied .trigram_input or embedding != h, stored 1,
         as embedding.projection, bias h, norm 2*h, split replicated
  positions count (.max_position_embeddings + .type_vocab_size) * h
class ForMaskedLM:
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
class ForPreTraining:
  head out h, bias, per_sequence  if .classifier_activation
  head out 2, bias, per_sequence
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
class Model: head out h, bias, per_sequence, detached  if .classifier_activation
class ForNextSentencePrediction:
  head out h, bias, per_sequence  if .classifier_activation
  head out 2, bias, per_sequence
class ForSequenceClassification:
  head out h, bias, per_sequence  if .classifier_activation
  head out labels, bias, per_sequence
class ForMultipleChoice:
  head out h, bias, per_sequence  if .classifier_activation
  head out 1, bias, per_sequence
classes ForTokenClassification ForQuestionAnswering
require narrow % heads == 0: .num_attention_heads must divide the width inside a layer ({narrow})
require not .use_bottleneck or .use_bottleneck_attention or shared or narrow == h: .key_query_shared_bottleneck must be true where intra_bottleneck_size is not hidden_size: queries would be as wide as the layers
require embedding <= h: .embedding_size must be at most hidden_size ({h})
require (.true_hidden_size ?? narrow) == narrow: .true_hidden_size must be the width inside a layer ({narrow})
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
