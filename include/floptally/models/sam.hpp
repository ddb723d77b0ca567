// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char sam[] = R"page(
# A mask for each prompt of an image: its points and corners of boxes see the cells of the tower's image and the cells see
# them. How many prompts there are is measured: n their number, the points of all (one more to each without a box), the
# squares of the points of each.
page sam : base.composite prefix Sam
with initializer_range any?, vision_config object?, vision_config.num_pos_feats 128
with vision_config.output_channels 256
with prompt_encoder_config.hidden_size 256, prompt_encoder_config.image_size any?, prompt_encoder_config.patch_size any?
with prompt_encoder_config.mask_input_channels 16 from 4, prompt_encoder_config.num_point_embeddings 4 from 4
with mask_decoder_config.hidden_size 256, mask_decoder_config.mlp_dim 2048, mask_decoder_config.num_hidden_layers 2
with mask_decoder_config.num_attention_heads 8, mask_decoder_config.attention_downsample_rate 2
with mask_decoder_config.num_multimask_outputs 3, mask_decoder_config.iou_head_depth 3 from 2
with mask_decoder_config.iou_head_hidden_dim 256
inner vision .vision_config: sam_vision_model, always
h      = .mask_decoder_config.hidden_size
half   = h / 2                                    # of the layers' own looks, whatever the config says
d      = h / .mask_decoder_config.attention_downsample_rate
heads  = .mask_decoder_config.num_attention_heads
layers = .mask_decoder_config.num_hidden_layers
f      = .mask_decoder_config.mlp_dim
masks  = .mask_decoder_config.num_multimask_outputs + 1
own    = masks + 1                                # tokens of each prompt besides its points: the masks' and one of how good they are
deep   = .mask_decoder_config.iou_head_depth
iou    = .mask_decoder_config.iou_head_hidden_dim
c      = vision.rows * vision.rows                # cells of an image
m      = .prompt_encoder_config.mask_input_channels
angles = .vision_config.num_pos_feats
n      = measured("prompts")
points = measured("prompt_points")
pairs  = measured("prompt_squares")
class Model:
  text none
  # Points by their angles. What reads a mask that is given as a prompt stands idle.
  linear in 2, out angles, as prompts positions, input, over points, no_lora
  linear in 2, out angles, applied c, as prompts positions, input, over measured("passes"), shared_weights
  linear in 4, out m / 4, applied 0, stored 1, as prompts conv1, no_lora, norm m / 2, bias m / 4
  linear in m, out m, applied 0, stored 1, as prompts conv2, no_lora, norm 2*m, bias m
  linear in m, out h, applied 0, stored 1, as prompts conv3, no_lora, bias h
  positions count (.prompt_encoder_config.num_point_embeddings + 2) * h + own * h
  # Tokens of a prompt among each other.
  linear in h, out h, applied own, stored 1, as decoder.self q_proj, over n, times layers, bias h
  linear in h, out h, applied own, stored 1, as decoder.self k_proj, over n, times layers, bias h
  linear in h, out h, applied own, stored 1, as decoder.self v_proj, over n, times layers, bias h
  linear in h, out h, applied own, stored 1, as decoder.self o_proj, over n, times layers, bias h, norm 2*h
  linear in h, out h, applied 4, as decoder.self, shared_weights, over points, times layers
  core heads heads, dim h / heads, as decoder.self, pairs own*own, over n, times layers
  core heads heads, dim h / heads, as decoder.self, pairs 2*own, over points, times layers
  core heads heads, dim h / heads, as decoder.self, pairs 1, over pairs, times layers
  # They look at the cells.
  linear in h, out half, applied own, stored 1, as decoder.cross q_proj, over n, times layers, bias half
  linear in h, out half, as decoder.cross q_proj, shared_weights, over points, times layers
  linear in h, out half, applied c, stored 1, as decoder.cross k_proj, over n, times layers, bias half
  linear in h, out half, applied c, stored 1, as decoder.cross v_proj, over n, times layers, bias half
  core heads heads, dim half / heads, as decoder.cross, pairs own*c, over n, times layers
  core heads heads, dim half / heads, as decoder.cross, pairs c, over points, times layers
  linear in half, out h, applied own, stored 1, as decoder.cross o_proj, over n, times layers, bias h, norm 2*h
  linear in half, out h, as decoder.cross o_proj, shared_weights, over points, times layers
  linear in h, out f, applied own, stored 1, as decoder.mlp up_proj, over n, times layers, bias f
  linear in f, out h, applied own, stored 1, as decoder.mlp down_proj, over n, times layers, bias h, norm 2*h
  linear in h, out f, applied 2, as decoder.mlp, shared_weights, over points, times layers
  # The cells look at them.
  linear in h, out half, applied c, stored 1, as decoder.cells q_proj, over n, times layers, bias half
  linear in h, out half, applied own, stored 1, as decoder.cells k_proj, over n, times layers, bias half
  linear in h, out half, applied own, stored 1, as decoder.cells v_proj, over n, times layers, bias half
  linear in h, out half, applied 2, as decoder.cells, shared_weights, over points, times layers
  core heads heads, dim half / heads, as decoder.cells, pairs own*c, over n, times layers
  core heads heads, dim half / heads, as decoder.cells, pairs c, over points, times layers
  linear in half, out h, applied c, stored 1, as decoder.cells o_proj, over n, times layers, bias h, norm 2*h
  # The tokens look at the cells a last time.
  linear in h, out d, applied own, stored 1, as decoder.last q_proj, over n, bias d
  linear in h, out d, as decoder.last q_proj, shared_weights, over points
  linear in h, out d, applied c, stored 1, as decoder.last k_proj, over n, bias d
  linear in h, out d, applied c, stored 1, as decoder.last v_proj, over n, bias d
  core heads heads, dim d / heads, as decoder.last, pairs own*c, over n
  core heads heads, dim d / heads, as decoder.last, pairs c, over points
  linear in d, out h, applied own, stored 1, as decoder.last o_proj, over n, bias h, norm 2*h
  linear in d, out h, as decoder.last o_proj, shared_weights, over points
  # Cells of a quarter of the side, times a vector of each mask.
  linear in h, out h, applied c, stored 1, as masks upscale_conv1, over n, no_lora, bias h / 4, norm h / 2
  linear in h / 2, out h / 4, applied 4*c, stored 1, as masks upscale_conv2, over n, no_lora, bias h / 8
  linear in h, out h, applied 2*masks, stored 2*masks, as masks hypernetworks, over n, bias 2*masks*h
  linear in h, out h / 8, applied masks, stored masks, as masks hypernetworks, over n, bias masks * (h / 8)
  state per masks * (h / 8) * 16*c, as masks product, over n
  linear in h, out iou, as quality proj_in, over n, bias iou
  linear in iou, out iou, applied deep - 2, stored deep - 2, as quality layers, over n, bias (deep - 2) * iou  if deep > 2
  linear in iou, out masks, as quality proj_out, over n, bias masks
require h == .prompt_encoder_config.hidden_size and h == .vision_config.output_channels: .mask_decoder_config.hidden_size must be the prompts' and what the tower leaves ({.vision_config.output_channels})
require h % 8 == 0 and 2 * angles == h: .vision_config.num_pos_feats must be half of the hidden_size, a multiple of 8 ({h})
require half % heads == 0: .mask_decoder_config.num_attention_heads must divide half of hidden_size ({half})
require d % heads == 0: .mask_decoder_config.num_attention_heads must divide hidden_size / attention_downsample_rate ({d})
note yes: prompts are measured: add_measured("prompts", …) their number, "prompt_points" the points of all, padded ones too, "prompt_squares" their squares, "passes" the passes of the model; a mask given as a prompt is not counted
)page";

}  // namespace floptally::models
