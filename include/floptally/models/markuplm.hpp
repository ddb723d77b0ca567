// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char markuplm[] = R"page(
page markuplm : bert prefix MarkupLM
with max_depth 50, xpath_unit_hidden_size 32, max_xpath_tag_unit_embeddings 256, max_xpath_subs_unit_embeddings 1024
without is_decoder
sees   = both
# The way to a token through the page: a tag and a number at each depth, through two matrices; a third is kept and never used.
path   = .max_depth * .xpath_unit_hidden_size
once:
  table count path * (.max_xpath_tag_unit_embeddings + .max_xpath_subs_unit_embeddings)
  linear in path, out 4*h, as xpath xpath_unitseq2_inner, from x, to inner, bias 4*h
  linear in 4*h, out h, as xpath inner2emb, from inner, to y, bias h
  linear in path, out h, as xpath xpath_unitseq2_embeddings, applied 0, stored 1, bias h
class Model: head out h, bias, per_sequence, detached
class ForSequenceClassification:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
class ForTokenClassification: head out labels, bias
class ForQuestionAnswering: head out labels, bias
)page";

}  // namespace floptally::models
