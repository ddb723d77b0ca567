// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char sew_d[] = R"page(
# SEW, whose layers are DeBERTa's: scores with a table of relative positions besides.
page sew-d : sew prefix SEWD
with vocab_size 32, max_position_embeddings 512, position_buckets 256 from -1, share_att_key yes, relative_attention yes
with pos_att_type list or text absent, norm_rel_ebd "layer_norm", max_relative_positions -1 from -1, feature_layer_norm_eps any?
first_norm = 0
final_norm = 0
far    = .max_relative_positions > 0 ? .max_relative_positions : .max_position_embeddings
span   = .position_buckets > 0 ? .position_buckets : far      # the table has a row for each distance on either side
kinds  = .pos_att_type ?? "c2p p2c"
terms  = .relative_attention ? (kinds has "c2p") + (kinds has "p2c") : 0
mixer:
  gqa heads heads, dim dim, bias bias
  # Each frame against all rows of the table, whatever its clip's length; the table's projections are stored.
  state as attention.positions, per 2 * terms * span * h  if terms > 0
  linear in h, out h, applied 0, stored terms, as attention.positions, bias terms * h  if terms > 0 and not .share_att_key
once:
  positions count 2 * span * h  if .relative_attention
  norm count 2*h  if .norm_rel_ebd has "layer_norm"
note terms > 0: relative positions: each pass projects their table once per layer, however large the batch: not counted
)page";

}  // namespace floptally::models
