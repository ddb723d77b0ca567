// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char aria[] = R"page(
page aria : base.composite prefix Aria
with vision_feature_layer -1 or list? from -16777216, projector_patch_to_query_dict object?
inner text .text_config: aria_text, always
inner vision .vision_config: idefics3_vision
vision_layers = depth(.vision_feature_layer, vision.layers)
# How many queries an image of so many patches has.
told   = given(.projector_patch_to_query_dict)
table  = told ? entries(.projector_patch_to_query_dict) : [1225, 128, 4900, 256]
most   = told ? largest(.projector_patch_to_query_dict) : 256
asked  = listed(table)
w      = vision.h
vision_units = asked
# Queries see the patches through two projections, one behind the other; then a feed-forward to the text's width.
vision_projector:
  linear in w, out w, as queries.qkv q_proj, from x, to a, over asked, split replicated, norm 2*w
  linear in w, out w, as queries.qkv k_proj, from x, to b, split replicated, norm 2*w
  linear in w, out w, as queries.qkv v_proj, from x, to c, split replicated
  linear in w, out w, as queries.attention q_proj, from a, to q, over asked, split heads vision.heads, bias w
  linear in w, out w, as queries.attention k_proj, from b, to k, split kv_heads vision.heads, bias w
  linear in w, out w, as queries.attention v_proj, from c, to v, split kv_heads vision.heads, bias w
  core heads vision.heads, dim vision.dim, as queries.core, from q k v, to o, sees listed_pairs(table)
  linear in w, out w, as queries.output o_proj, from o, to d, over asked, split heads vision.heads, bias w
  linear in w, out w, as queries.output linear, from d, to e, over asked, split replicated, bias w
  linear in w, out text.h, as projector linear_in, from e, to up, over asked, split columns, norm 2*w
  linear in text.h, out text.h, as projector linear_out, from up, to z, over asked, split rows
  positions count most * w
require not told or size(.projector_patch_to_query_dict) < 3: .projector_patch_to_query_dict must have one or two entries
)page";

}  // namespace floptally::models
