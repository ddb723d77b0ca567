// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minimax_m3_vl[] = R"page(
page minimax_m3_vl : base.composite prefix MiniMaxM3
with projector_hidden_size 6144
with merged_hidden_size any?       # saved by files: the width of a merged square
inner text .text_config: minimax_m3_vl_text, always
inner vision .vision_config: minimax_m3_vl.vision, always
tied   = .tie_word_embeddings or text.tied
inner  = .projector_hidden_size
side   = vision.side
merges = merged(side)
vision_units = merges
# Each patch goes through two matrices, then what a square of them became through two more.
vision_projector:
  linear in vision.h, out inner,         as projector linear_1, from x, to up, bias inner, split columns
  linear in inner, out text.h,           as projector linear_2, from up, to patch, bias text.h, split rows
  linear in side*side*text.h, out inner, as projector merge_linear_1, from patch, to merged, units merges, bias inner, split columns
  linear in inner, out text.h,           as projector merge_linear_2, from merged, to out, units merges, bias text.h, split rows
class SparseForConditionalGeneration: text ForCausalLM
class VLModel: text TextModel

page minimax_m3_vl.vision : base.tower prefix MiniMaxM3VL
with hidden_size 1280, intermediate_size 5120, num_hidden_layers 32, num_attention_heads 16
with num_channels 3, patch_size 14, temporal_patch_size 2, spatial_merge_size 2
with image_size any?              # said by files; grids say how large images are
side   = .spatial_merge_size
bias   = 4*h
first_norm = 2*h
final_norm = 0
sees   = clip_squares()           # a clip's frames see each other
stem:  patches channels .num_channels, side .patch_size, frames .temporal_patch_size
class VisionModel:
)page";

}  // namespace floptally::models
