// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deberta_v2[] = R"page(
page deberta-v2 : roberta prefix DebertaV2
with vocab_size 128100, hidden_size 1536, intermediate_size 6144, num_hidden_layers 24, num_attention_heads 24
with embedding_size number?, type_vocab_size 0, position_biased_input yes
with relative_attention no, max_relative_positions -1 from -1, position_buckets -1 from -1, pos_att_type list or text?
with share_att_key no, norm_rel_ebd "none", conv_kernel_size 0, conv_groups 1
with legacy yes, talking_head no, pooler_hidden_size number?, attention_head_size number?
embedding = .embedding_size ?? h
far    = .max_relative_positions > 0 ? .max_relative_positions : .max_position_embeddings
span   = .position_buckets > 0 ? .position_buckets : far      # the table has a row for each distance on either side
c2p    = .relative_attention and (.pos_att_type has "c2p" or .pos_att_type has "C2P")     # a query against the positions of keys
p2c    = .relative_attention and (.pos_att_type has "p2c" or .pos_att_type has "P2C")     # a key against the positions of queries
terms  = c2p + p2c
first_norm = 2*h
positions = 0
mixer:
  gqa heads heads, dim dim, bias bias
  # Each token against all rows of the table, whatever its sequence's length; the table's projections are stored.
  state as attention.positions, per 2 * terms * span * h  if terms > 0
  linear in h, out h, applied 0, stored terms, as attention.positions, bias terms * h  if terms > 0 and not .share_att_key
# A convolution over tokens beside the first layer.
more:
  linear in h / .conv_groups * .conv_kernel_size, out h, as convolution, bias h, norm 2*h  if i == 0 and .conv_kernel_size > 0
once:
  positions count (.position_biased_input * .max_position_embeddings + .type_vocab_size) * embedding
  positions count 2 * span * h  if .relative_attention
  linear in embedding, as embedding.projection, out h, split replicated  if embedding != h
  norm count 2*h  if .norm_rel_ebd has "layer_norm"
class ForMaskedLM:
  head out embedding, bias, norm 2
  head in embedding, out v, bias, untied_twice, words
class Model:
classes ForSequenceClassification ForTokenClassification ForQuestionAnswering ForMultipleChoice
note terms > 0: relative positions: each pass projects their table once per layer, however large the batch: not counted
require not .is_decoder: .is_decoder is not supported; must be false or absent
require .legacy: .legacy is not supported; must be true or absent
require not .talking_head: .talking_head is not supported; must be false or absent
require (.pooler_hidden_size ?? h) == h: .pooler_hidden_size must be hidden_size ({h})
require (.attention_head_size ?? dim) == dim: .attention_head_size must be hidden_size / num_attention_heads ({dim})
require .conv_kernel_size == 0 or .conv_kernel_size % 2 == 1: .conv_kernel_size must be odd or 0
require .conv_kernel_size == 0 or h % .conv_groups == 0: .conv_groups must divide hidden_size ({h})
)page";

}  // namespace floptally::models
