// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char phi4_multimodal[] = R"page(
page phi4_multimodal : base.composite prefix Phi4Multimodal
with tie_word_embeddings no, embd_layer any?
inner text .text_config: phi4_multimodal.text, flat
inner vision .vision_config: phi4_multimodal_vision, always
inner audio .audio_config: phi4_multimodal.audio, always
vision_layers = depth(vision.takes, vision.layers)
# Four patches become a token, and a learned one ends each of their lines.
vision_units = merged(2, 1)
vision_projector:
  linear in vision.h, out text.h, as projector img_projection_up, from x, to up, units merged(2, 1), bias text.h,
         split columns
  linear in text.h, out text.h, as projector img_projection_down, from up, to out, units merged(2, 1), bias text.h,
         split rows
  positions count 2 * vision.h
# Two projectors, one for sound alone and one for sound beside images, of which a step runs one.
audio_units = audio.units
audio_projector:
  linear in audio.h, out text.h, as projector up_proj, from x, to up, stored 2, over audio_units,
         attends audio_units, bias 2 * text.h
  linear in text.h, out text.h, as projector down_proj, from up, to out, stored 2, over audio_units,
         attends audio_units, bias 2 * text.h
class ForCausalLM: text ForCausalLM
class Model: text Model

page phi4_multimodal.text : phi3
with vocab_size 200064, num_key_value_heads 8?

# A conformer behind the convolutions of Parakeet, whose frames see each other, of a long clip in pieces of 500.
page phi4_multimodal.audio : base.tower prefix Phi4Multimodal
with hidden_size 1024, intermediate_size 1536, num_blocks 24, num_attention_heads 16, input_size 80, time_reduction 8
with ext_pw_out_channel 1024, depthwise_separable_out_channel 1024, depthwise_multiplier 1, kernel_size 3
with nemo_conv_channels 1024, bias_max_distance 1000, bias_symmetric no, downsample_rate 1, chunk_size any?, left_chunk any?
with feature_layer any?
without num_hidden_layers
stands = "audio"
divides = no
layers = .num_blocks
bias   = 4*h
norms  = 5 * 2*h
final_norm = 0
# Convolutions over frames and bins, each of which halves both: the first is dense, of the others each is one for every
# channel and one across them.
halvings = .time_reduction >= 16 ? 4 : .time_reduction >= 8 ? 3 : .time_reduction >= 4 ? 2 : 1
c      = .nemo_conv_channels
bins1  = (.input_size - 1) / 2 + 1
bins2  = (bins1 - 1) / 2 + 1
bins3  = (bins2 - 1) / 2 + 1
bins4  = (bins3 - 1) / 2 + 1
bins   = halvings == 4 ? bins4 : halvings == 3 ? bins3 : halvings == 2 ? bins2 : bins1
hop    = power(2, halvings)
units  = frames(1, hop)
attends = frame_squares(1, hop, 0, 500)
per_unit = 0
stem:
  convolutions channels 1, kernels [3], out c, strides 2, paddings 1, bins bins1, bin_kernels 3, biased
  convolutions channels c, kernels [3, 1], out c, strides [2, 1], paddings [1, 0], groups [c, 1], bins bins2,
               bin_kernels [3, 1], biased, inside, field 1, stride 2  if halvings >= 2
  convolutions channels c, kernels [3, 1], out c, strides [2, 1], paddings [1, 0], groups [c, 1], bins bins3,
               bin_kernels [3, 1], biased, inside, field 1, stride 4  if halvings >= 3
  convolutions channels c, kernels [3, 1], out c, strides [2, 1], paddings [1, 0], groups [c, 1], bins bins4,
               bin_kernels [3, 1], biased, inside, field 1, stride 8  if halvings >= 4
  linear in c * bins, out h, as stem out, bias h, over units, attends units, split repeated
  positions count (.bias_symmetric ? 1 : 2) * .bias_max_distance * heads      # of how far frames are from each other
feed:  gated inner f, bias 2*f + h, fused
more:
  gated inner f, bias 2*f + h, fused
  linear in h, out 2*h, as convolution, no_lora, bias 4*h
  linear in .kernel_size, out .depthwise_multiplier * h, as convolution, no_lora
  linear in .depthwise_multiplier * h, out h, as convolution, no_lora, bias .depthwise_multiplier * h + h
  linear in h, out h, as convolution, no_lora, bias h
class Model:
require .ext_pw_out_channel == h: .ext_pw_out_channel must be hidden_size ({h}), since the layer adds what leaves to what entered
require .depthwise_separable_out_channel == h: .depthwise_separable_out_channel must be hidden_size ({h}), which the next convolution reads
require .time_reduction == hop: .time_reduction must be 2, 4, 8 or 16
require .downsample_rate == 1: .downsample_rate must be 1, which is all that the class runs
)page";

}  // namespace floptally::models
