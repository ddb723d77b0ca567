// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char blip_2[] = R"page(
page blip-2 : base.composite prefix Blip2
with image_text_hidden_size any?                  # of the class for retrieval
with num_query_tokens 32, qformer_config object?, qformer_config.hidden_size 768, qformer_config.intermediate_size 3072
with qformer_config.num_hidden_layers 12 from 0, qformer_config.num_attention_heads 12
with qformer_config.cross_attention_frequency 2 to 10000, qformer_config.use_qformer_text_input no
inner text .text_config: opt
inner vision .vision_config: blip_2_vision_model, always
tied   = text.tied
n      = .num_query_tokens                        # learned rows of each image
h      = .qformer_config.hidden_size
f      = .qformer_config.intermediate_size
heads  = .qformer_config.num_attention_heads
dim    = h / heads
deep   = .qformer_config.num_hidden_layers
crossed = ceil(deep, .qformer_config.cross_attention_frequency)        # layers that see the image, from the first
vision_per_frame = n
known  = 0                                        # parameters of the tables of that text's words and positions
steered = no                                      # by a text beside the queries, as in InstructBLIP
asked  = measured("prompt_tokens")                # of that text, once for each image
# BERT's layers over the learned rows, some of which see the image, and a linear to the text's width.
# a, b, c, d: what a line makes and the next ones read.
vision_projector:
  linear in h, out h, as queries.qkv q_proj, from x, to a, per_sequence, rows n, times deep, split heads heads
  linear in h, out h, as queries.qkv k_proj, from x, to b, per_sequence, rows n, times deep, split kv_heads heads
  linear in h, out h, as queries.qkv v_proj, from x, to c, per_sequence, rows n, times deep, split kv_heads heads
  core heads heads, dim dim, as queries.core, from a b c, to d, pairs n*n, per_sequence, times deep
  linear in h, out h, as queries.output o_proj, from d, per_sequence, rows n, times deep, split heads heads
  linear in h, out f, as queries.mlp up_proj, from x, to a, per_sequence, rows n, times deep, split columns
  linear in f, out h, as queries.mlp down_proj, from a, per_sequence, rows n, times deep, split rows
  norm count deep * 4*h
  bias count deep * (5*h + f)
  # Over the image: its class token too.
  linear in h, out h, as queries.qkv q_proj, from x, to a, per_sequence, rows n, times crossed, split heads heads
  linear in vision.h, out h, as queries.qkv k_proj, from context, to b, prefix 1, times crossed, split kv_heads heads
  linear in vision.h, out h, as queries.qkv v_proj, from context, to c, prefix 1, times crossed, split kv_heads heads
  core heads heads, dim dim, as queries.core, from a b c, to d, pairs n, prefix 1, times crossed
  linear in h, out h, as queries.output o_proj, from d, per_sequence, rows n, times crossed, split heads heads
  norm count crossed * 2*h, prefix 1
  bias count crossed * 4*h, prefix 1
  # The words of a text that steers the queries: the same attention over both, a feed-forward of their own.
  linear in h, out h, as queries.qkv q_proj, over asked, shared_weights, times deep, split heads heads  if steered
  linear in h, out h, as queries.qkv k_proj, over asked, shared_weights, times deep, split kv_heads heads  if steered
  linear in h, out h, as queries.qkv v_proj, over asked, shared_weights, times deep, split kv_heads heads  if steered
  core heads heads, dim dim, as queries.core, pairs 2*n, over asked, times deep  if steered
  core heads heads, dim dim, as queries.core, pairs 1, over measured("prompt_squares"), times deep  if steered
  linear in h, out h, as queries.output o_proj, over asked, shared_weights, times deep, split heads heads  if steered
  linear in h, out f, as queries.words up_proj, from x, to a, over asked, times deep, split columns  if steered
  linear in f, out h, as queries.words down_proj, from a, over asked, times deep, split rows  if steered
  positions count known  if steered
  norm count deep * 2*h  if steered
  bias count deep * (h + f)  if steered
  linear in h, out text.h, as projector language_projection, from x, to y, per_sequence, rows n
  bias count text.h
  norm count 2*h
  positions count n * h
class ForConditionalGeneration: text ForCausalLM or ForConditionalGeneration
class Model: text ForCausalLM or ForConditionalGeneration
require not .qformer_config.use_qformer_text_input: .qformer_config.use_qformer_text_input must be false or absent where queries alone enter
require h % heads == 0: .qformer_config.num_attention_heads must divide hidden_size ({h})
)page";

}  // namespace floptally::models
