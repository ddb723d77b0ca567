// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gte[] = R"page(
page gte : bert prefix Gte
with vocab_size 250048, head_dim number absent, type_vocab_size 1 from 0
without max_position_embeddings
dim    = .head_dim ?? h / heads
divides = no
bias   = 3 * heads*dim + h
positions = 0
feed:  gated inner f, bias h
once:  positions count .type_vocab_size * h
class ForMaskedLM:
  head out h, bias, norm 2
  head out v, bias, words
class Model:
classes ForSequenceClassification
class ForTokenClassification: head out labels, bias
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
