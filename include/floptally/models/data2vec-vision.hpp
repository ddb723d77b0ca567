// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char data2vec_vision[] = R"page(
page data2vec-vision : beit prefix Data2VecVision
without head_dim, vocab_size
divides = yes
class ForImageClassification:
  head out labels, bias, per_sequence
  norm count 2*h
class Model: norm count 2*h  if not .use_mean_pooling
)page";

}  // namespace floptally::models
