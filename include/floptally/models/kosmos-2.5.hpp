// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kosmos_2_5[] = R"page(
# Documents, as Pix2Struct cuts them into patches.
page kosmos-2.5 : kosmos-2 prefix Kosmos2_5
with latent_query_num 2048
inner text .text_config: kosmos-2.5.text, always
inner vision .vision_config: kosmos-2.5.vision, always
own    = 0

page kosmos-2.5.text : kosmos-2.text prefix Kosmos2_5Text
with vocab_size 108481, embed_dim 1536, ffn_dim 6144, attention_heads 16
norms  = 4*h + 2*f
once:  table count 2*h            # of what is image and what is text

page kosmos-2.5.vision : pix2struct_vision_model prefix Kosmos2_5
with hidden_size 1536, intermediate_size 3968, head_dim 64, num_hidden_layers 18, num_attention_heads 24, max_num_patches 4096
without d_ff, d_kv, seq_len, relative_attention_num_buckets, relative_attention_max_distance
f      = .intermediate_size
dim    = .head_dim
stem:
  patches channels .patch_embed_hidden_size, side 1, bias h
  positions count 2 * .max_num_patches * h
)page";

}  // namespace floptally::models
