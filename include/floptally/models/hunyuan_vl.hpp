// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hunyuan_vl[] = R"page(
page hunyuan_vl : base.composite prefix HunYuanVL
with tie_word_embeddings yes, text_config object?
inner text .text_config: hunyuan_vl_text, always, flat
inner vision .vision_config: hunyuan_vl.vision, always
# Keys that stand beside the outer ones leave the text's own flag at its default.
tied   = .tie_word_embeddings or not given(.text_config) or text.tied
w      = vision.h
side   = vision.side
# Two convolutions, and a linear over their output and one learned row at the end of each line.
vision_projector:
  linear in side*side*w, out 2*w, as merger proj_conv, from x, to up, units merged(side), no_lora, bias 2*w
  linear in 2*w, out 4*w, as merger proj_out, from up, to wide, units merged(side), no_lora, bias 4*w
  linear in 4*w, out text.h, as merger mlp, from wide, to out, units merged(side, 1), bias text.h
  norm count w + text.h
  positions count 4*w + 3*text.h                  # at the end of a line; before, after and between images
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel

page hunyuan_vl.vision : base.tower prefix HunYuanVL
with hidden_size 1152, intermediate_size 4304, num_hidden_layers 27, num_attention_heads 16, head_dim number absent
with max_image_size 2048, patch_size 16, num_channels 3, spatial_merge_size 2
heads  = .attention_heads // .num_attention_heads
dim    = .head_dim ?? h / heads
bias   = 3*heads*dim + h
final_norm = 0
side   = .spatial_merge_size
square = .max_image_size / .patch_size
tokens_for = merged(side, 1)
per_frame  = 2
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (square*square + 1) * h
class VisionModel:
)page";

}  // namespace floptally::models
