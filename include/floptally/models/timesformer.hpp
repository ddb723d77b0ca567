// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char timesformer[] = R"page(
page timesformer : vit prefix Timesformer
with num_frames 8, attention_type "divided_space_time" of divided_space_time space_only joint_space_time
without head_dim, encoder_stride, pooler_output_size
divides = yes
frames = .num_frames
divided = .attention_type == "divided_space_time"
alone   = .attention_type == "space_only"
# Frames by themselves have a class token each, a clip otherwise one, which every frame sees a copy of.
class_tokens = alone ? 1 : 0
sees   = alone ? both : clip_squares()
norms  = divided ? 6*h : 4*h
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (rows*columns + 2 + (alone ? 0 : frames)) * h
mixer:
  gqa heads heads, dim dim, bias bias, fused, sees across_frames()                                     if divided
  linear in h, as attention temporal_dense, bias h, out h                                              if divided
  gqa heads heads, dim dim, bias bias, fused, sees both, prefix 1                                      if divided
  gqa heads heads, dim dim, bias bias, fused, sees sees                                                if not divided
  linear in h, as attention.class_token, units clips(), shared_weights, no_lora, out 4*h               if not divided and not alone
  core heads heads, as attention.core, dim dim, pairs 2                                                if not divided and not alone
  core heads heads, as attention.core, dim dim, pairs 1, over clips()                                  if not divided and not alone
feed:
  mlp inner f, bias f + h
  linear in h, as mlp.class_token, units clips(), shared_weights, no_lora, out 2*f                     if not alone
class ForVideoClassification:
  linear in h, head, as lm_head classifier, from x, bias labels, split replicated, out labels, units clips()  if not alone
  head out labels, bias, per_sequence                                                                         if alone
class Model:
)page";

}  // namespace floptally::models
