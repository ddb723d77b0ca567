// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granite4_vision[] = R"page(
# Tiles, of which each is an image. What several layers of the tower make goes into as many layers of the text, each through a
# query transformer of its own over windows of 8 x 8 patches, which leaves 4 x 4 of them.
page granite4_vision : base.composite prefix Granite4Vision
with downsample_rate "4/8", deepstack_layer_map list, spatial_vision_layer -1 from -16777216, spatial_target_layers list?
with vision_feature_select_strategy "default" of default full
with qformer_config object?, qformer_config.num_hidden_layers 1, qformer_config.intermediate_size 3072
with qformer_config.cross_attention_frequency 1 to 10000, qformer_config.use_qformer_text_input no
with qformer_config.hidden_size any?, qformer_config.num_attention_heads any?      # the tower's, whatever they say
with vision_feature_layer any?, image_seq_length any?
inner text .text_config: granite4_vision_text, always
inner vision .vision_config: clip_vision_model
tied   = .tie_word_embeddings
h      = vision.h
heads  = h / 64
f      = .qformer_config.intermediate_size
deep   = .qformer_config.num_hidden_layers
crossed = ceil(deep, .qformer_config.cross_attention_frequency)
spatial = given(.spatial_target_layers) ? size(.spatial_target_layers) : 4
used   = size(.deepstack_layer_map) + spatial
kept   = size(.deepstack_layer_map) + 4           # of the latter the class has four, however many are asked for
idle   = kept - used
left   = merged(2)                                # queries: 16 of each window
# a, b, c, d: what a line makes and the next ones read.
vision_projector:
  linear in h, out h, as queries.qkv q_proj, from x, to a, units left, times used*deep, split heads heads
  linear in h, out h, as queries.qkv k_proj, from x, to b, units left, times used*deep, split kv_heads heads
  linear in h, out h, as queries.qkv v_proj, from x, to c, units left, times used*deep, split kv_heads heads
  core heads heads, dim 64, as queries.core, from a b c, to d, pairs 16, over left, times used*deep
  linear in h, out h, as queries.output o_proj, from d, units left, times used*deep, split heads heads
  linear in h, out h, as queries.qkv q_proj, from x, to a, units left, times used*crossed, split heads heads
  linear in h, out h, as queries.qkv k_proj, from context, to b, times used*crossed, split kv_heads heads
  linear in h, out h, as queries.qkv v_proj, from context, to c, times used*crossed, split kv_heads heads
  core heads heads, dim 64, as queries.core, from a b c, to d, pairs 64, over left, times used*crossed
  linear in h, out h, as queries.output o_proj, from d, units left, times used*crossed, split heads heads
  linear in h, out f, as queries.mlp up_proj, from x, to a, units left, times used*deep, split columns
  linear in f, out h, as queries.mlp down_proj, from a, units left, times used*deep, split rows
  linear in h, out text.h, as projector out_linear, from x, to y, units left, times used
  linear in h, out h, applied 0, stored 4*(deep + crossed), as queries.idle, times idle
  linear in h, out f, applied 0, stored 2*deep, as queries.idle_mlp, times idle
  linear in h, out text.h, applied 0, stored 1, as projector idle_out_linear, times idle
  norm count kept * (4*deep*h + 2*crossed*h + 4*h)
  bias count kept * (deep * (5*h + f) + crossed * 4*h + text.h)
  positions count kept * (16 + 64) * h + text.h   # the last: what stands after each row of an image
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
require .downsample_rate == "4/8": .downsample_rate must be "4/8"
require .spatial_vision_layer == -1: .spatial_vision_layer must be -1, so that all layers of the tower are read
note yes: deepstack_layer_map and spatial_target_layers are taken to name as many different layers of the text: of two for one layer the class takes the last
require spatial <= 4: .spatial_target_layers must be at most 4 layers
require h % 64 == 0: .vision_config.hidden_size must be a multiple of 64
require given(vision.class_tokens) == (.vision_feature_select_strategy == "default"): .vision_feature_select_strategy must be "default" for a tower with a class token, else "full"
require not .qformer_config.use_qformer_text_input: .qformer_config.use_qformer_text_input must be false or absent
)page";

}  // namespace floptally::models
