// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deberta[] = R"page(
page deberta : deberta-v2 prefix Deberta
with vocab_size 50265, hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12
without position_buckets, share_att_key, norm_rel_ebd, conv_kernel_size, conv_groups, attention_head_size
span   = far
bias   = h + 2*h                 # of queries and values; keys have none
mixer:
  gqa heads heads, dim dim, bias bias, fused
  # Each token against the rows of the distances that its sequence has, span of them on either side at most.
  scores per 2 * terms * h, as attention.positions, sees box(span)  if terms > 0
  linear in h, as attention.positions, out h, applied 0, stored 1  if c2p
  linear in h, out h, applied 0, stored 1, as attention.positions, bias h  if p2c
more:
classes ForMaskedLM Model ForSequenceClassification ForTokenClassification ForQuestionAnswering
)page";

}  // namespace floptally::models
