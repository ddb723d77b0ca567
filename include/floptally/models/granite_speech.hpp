// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char granite_speech[] = R"page(
# Learned queries read each window of frames through BLIP-2's Q-Former, and stand for it in the text.
page granite_speech : base.composite prefix GraniteSpeech
with downsample_rate 5, window_size 15, has_lora_adapter any?, audio_token_index any?, tie_word_embeddings yes
with projector_config.hidden_size 768, projector_config.intermediate_size 3072, projector_config.num_hidden_layers 12
with projector_config.num_attention_heads 12, projector_config.cross_attention_frequency 2 to 10000
with projector_config.encoder_hidden_size 1408, projector_config.use_qformer_text_input no
with projector_config.model_type "blip_2_qformer" of blip_2_qformer
inner text .text_config: granite
inner audio .encoder_config: granite_speech_encoder, always
w      = .window_size                             # frames, padded ones too
n      = w / .downsample_rate                     # queries of a window
h      = .projector_config.hidden_size
f      = .projector_config.intermediate_size
heads  = .projector_config.num_attention_heads
dim    = h / heads
deep   = .projector_config.num_hidden_layers
crossed = ceil(deep, .projector_config.cross_attention_frequency)      # layers that see the sound, from the first
keys   = .projector_config.encoder_hidden_size
windows = frames(1, w)
audio_units = windows
audio_per_unit = n
# Before its first look at the sound, the first layer has the same queries for all windows: it makes them once a step.
audio_projector:
  linear in h, out h, as queries.qkv q_proj, from x, to a, applied n, stored 1, over windows, attends windows,
         times deep - 1, split heads heads
  linear in h, out h, as queries.qkv k_proj, from x, to b, applied n, stored 1, over windows, attends windows,
         times deep - 1, split kv_heads heads
  linear in h, out h, as queries.qkv v_proj, from x, to c, applied n, stored 1, over windows, attends windows,
         times deep - 1, split kv_heads heads
  core heads heads, dim dim, as queries.core, from a b c, to d, pairs n*n, over windows, attends windows,
         times deep - 1
  linear in h, out h, as queries.output o_proj, from d, applied n, stored 1, over windows, attends windows,
         times deep - 1, split heads heads
  linear in h, out f, as queries.mlp up_proj, from x, to a, applied n, stored 1, over windows, attends windows,
         times deep, split columns
  linear in f, out h, as queries.mlp down_proj, from a, applied n, stored 1, over windows, attends windows,
         times deep, split rows
  norm count deep * 4*h
  bias count deep * (5*h + f)
  linear in h, out h, as queries.first, applied 0, stored 5, over windows, attends windows, no_lora
  # Over the sound.
  linear in h, out h, as queries.qkv q_proj, from x, to a, applied n, stored 1, over windows, attends windows,
         times crossed - 1, split heads heads
  linear in keys, out h, as queries.qkv k_proj, from context, to b, applied w, stored 1, over windows,
         attends windows, times crossed, split kv_heads heads
  linear in keys, out h, as queries.qkv v_proj, from context, to c, applied w, stored 1, over windows,
         attends windows, times crossed, split kv_heads heads
  core heads heads, dim dim, as queries.core, from a b c, to d, pairs n*w, over windows, attends windows,
         times crossed
  linear in h, out h, as queries.output o_proj, from d, applied n, stored 1, over windows, attends windows,
         times crossed, split heads heads
  norm count crossed * 2*h
  bias count crossed * 4*h
  linear in h, out text.h, as projector linear, from x, to y, applied n, stored 1, over windows, attends windows
  bias count text.h
  norm count 2*h
  positions count n * h
require w % .downsample_rate == 0: .window_size must be a multiple of downsample_rate ({.downsample_rate})
require h % heads == 0: .projector_config.num_attention_heads must divide hidden_size ({h})
require keys == audio.left: .projector_config.encoder_hidden_size must be the width of what the encoder leaves ({audio.left})
require not .projector_config.use_qformer_text_input: .projector_config.use_qformer_text_input must be false, since queries alone enter
)page";

}  // namespace floptally::models
