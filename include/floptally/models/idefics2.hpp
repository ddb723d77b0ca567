// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char idefics2[] = R"page(
page idefics2 : base.composite prefix Idefics2
with perceiver_config object?, perceiver_config.resampler_n_latents 64, perceiver_config.resampler_depth 3 from 0
with perceiver_config.resampler_n_heads 16, perceiver_config.num_key_value_heads 4, perceiver_config.resampler_head_dim 96
inner text .text_config: mistral
inner vision .vision_config: idefics2_vision, always
n      = .perceiver_config.resampler_n_latents    # learned rows of each image
deep   = .perceiver_config.resampler_depth
heads  = .perceiver_config.resampler_n_heads
kv     = .perceiver_config.num_key_value_heads
dim    = .perceiver_config.resampler_head_dim
t      = text.h
vision_per_frame = n
# a, b, c, d: what a line makes and the next ones read.
vision_projector:
  # A gated MLP of every patch, to the text's width.
  linear in vision.h, out text.f, as projector gate_proj, from x, to a, split columns
  linear in vision.h, out text.f, as projector up_proj,   from x, to a, split columns
  linear in text.f,   out t,      as projector down_proj, from a, to b, split rows
  # Layers in which learned rows see the patches and each other.
  linear in t, out heads*dim, as queries.qkv q_proj, from x, to a, per_sequence, rows n, times deep, split heads heads
  linear in t, out kv*dim, as queries.qkv k_proj, from context, to b, times deep, split kv_heads kv
  linear in t, out kv*dim, as queries.qkv k_proj, from context, to b, per_sequence, rows n, shared_weights, times deep,
         split kv_heads kv
  linear in t, out kv*dim, as queries.qkv v_proj, from context, to c, times deep, split kv_heads kv
  linear in t, out kv*dim, as queries.qkv v_proj, from context, to c, per_sequence, rows n, shared_weights, times deep,
         split kv_heads kv
  core heads heads, dim dim, as queries.core, from a b c, to d, pairs n, times deep
  core heads heads, dim dim, as queries.core, from a b c, to d, pairs n*n, per_sequence, times deep
  linear in heads*dim, out t, as queries.output o_proj, from d, per_sequence, rows n, times deep, split heads heads
  linear in t, out 4*t, as queries.mlp up_proj,   from x, to a, per_sequence, rows n, times deep, split columns
  linear in t, out 4*t, as queries.mlp gate_proj, from x, to a, per_sequence, rows n, times deep, split columns
  linear in 4*t, out t, as queries.mlp down_proj, from a, per_sequence, rows n, times deep, split rows
  norm count (3*deep + 1) * t
  positions count n * t
require heads % kv == 0: .perceiver_config.num_key_value_heads must divide resampler_n_heads ({heads})
)page";

}  // namespace floptally::models
