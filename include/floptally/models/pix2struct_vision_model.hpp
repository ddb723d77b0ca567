// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pix2struct_vision_model[] = R"page(
page pix2struct_vision_model : base.tower prefix Pix2Struct
with hidden_size 768, patch_embed_hidden_size 768, d_ff 2048, d_kv 64, num_hidden_layers 12, num_attention_heads 12, seq_len 4096
with relative_attention_num_buckets any?, relative_attention_max_distance any?     # said by files, and of no use here
without intermediate_size
divides = no
f      = .d_ff
dim    = .d_kv
norms  = 2*h
final_norm = h
feed:  gated inner f
stem:
  patches channels .patch_embed_hidden_size, side 1, bias h       # all values of a patch, whatever its sides
  positions count 2 * .seq_len * h                                # of rows and of columns
class VisionModel:
)page";

}  // namespace floptally::models
