// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char bert[] = R"page(
page bert : base.decoder prefix Bert
with vocab_size 30522, hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12
with max_position_embeddings 512, type_vocab_size 2, is_decoder no, tie_word_embeddings yes
with embedding_size any?
norms  = 4*h
first_norm = 2*h
final_norm = 0
mtp_norms = norms + 6*h
bias   = 4*h
sees   = .is_decoder ? causal : both
positions = .max_position_embeddings + .type_vocab_size
embedding = h                     # its width; of some kin another
feed: mlp inner f, bias f + h
divides = yes
require (.embedding_size ?? embedding) == embedding: .embedding_size must be null, absent or hidden_size ({embedding})
class ForMaskedLM:
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
class LMHeadModel:
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
class ForPreTraining:
  head out h, bias, per_sequence
  head out 2, bias, per_sequence
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
class Model: head out h, bias, per_sequence, detached
class ForNextSentencePrediction:
  head out h, bias, per_sequence
  head out 2, bias, per_sequence
class ForSequenceClassification:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
class ForMultipleChoice:
  head out h, bias, per_sequence
  head out 1, bias, per_sequence
class ForTokenClassification: head out labels, bias
class ForQuestionAnswering: head out labels, bias
class ForCausalLMOfImages: as bert.of_images        # as vision-encoder-decoder has it

# With attention over a tower in each layer.
page bert.of_images : bert
sees   = causal
norms  = 6*h
cross: cross heads heads, dim dim, bias bias
class ForCausalLMOfImages:
  head out h, bias, norm 2
  head out v, bias, untied_twice, words

# Kin whose pooler runs in every class, also where no head looks at what it makes.
page bert.pooled : bert
class ForMaskedLM:
  head out h, bias, per_sequence, detached
  head out h, bias, norm 2
  head out v, bias, untied_twice, words
classes Model ForSequenceClassification ForMultipleChoice
class ForTokenClassification:
  head out h, bias, per_sequence, detached
  head out labels, bias
class ForQuestionAnswering:
  head out h, bias, per_sequence, detached
  head out labels, bias
)page";

}  // namespace floptally::models
