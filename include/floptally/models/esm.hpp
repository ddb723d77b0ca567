// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char esm[] = R"page(
page esm : bert prefix Esm
with vocab_size number, max_position_embeddings 1026, emb_layer_norm_before no?, position_embedding_type "absolute"
without type_vocab_size
first_norm = .emb_layer_norm_before ? 2*h : 0
final_norm = 2*h
positions = .position_embedding_type == "absolute" ? .max_position_embeddings : 0
once: bias count layers * heads + 1       # the contact head, which training never runs
class ForMaskedLM:
  head out h, bias, norm 2
  head out v, bias, words
class Model: head out h, bias, per_sequence, detached
class ForSequenceClassification:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
class ForTokenClassification: head out labels, bias
)page";

}  // namespace floptally::models
