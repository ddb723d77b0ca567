// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deepseek_ocr2_vision[] = R"page(
# SAM's encoder, whose result is merged four by four, then a Qwen2 over these cells and as many learned queries behind them:
# cells see each other, a query all cells and the queries before it. Tiles of 768 pixels have 144 of each, of 1024 256.
page deepseek_ocr2_vision : base.tower prefix DeepseekOcr2
with sam_config object?, sam_config.hidden_size 768, sam_config.num_hidden_layers 12, sam_config.num_attention_heads 12
with sam_config.output_channels 256, sam_config.num_channels 3, sam_config.image_size 1024, sam_config.patch_size 16
with sam_config.qkv_bias yes, sam_config.mlp_ratio 4.0, sam_config.mlp_dim number?, sam_config.use_abs_pos yes, sam_config.use_rel_pos yes
with sam_config.window_size 14, sam_config.global_attn_indexes [2, 5, 8, 11], sam_config.downsample_channels list?
with encoder_config object?, encoder_config.hidden_size 4096, encoder_config.intermediate_size 22016
with encoder_config.num_hidden_layers 32, encoder_config.num_attention_heads 32, encoder_config.num_key_value_heads 32
with encoder_config.use_sliding_window no, encoder_config.vocab_size any?, encoder_config.sliding_window any?, encoder_config.max_window_layers any?
with encoder_config.layer_types any?, encoder_config.max_position_embeddings any?, encoder_config.tie_word_embeddings any?
without hidden_size, num_hidden_layers, num_attention_heads, intermediate_size
s      = .sam_config.hidden_size
deep   = .sam_config.num_hidden_layers
sam    = i < deep
sheads = .sam_config.num_attention_heads
sdim   = s / sheads
sf     = .sam_config.mlp_dim ?? floor(s * .sam_config.mlp_ratio)
square = .sam_config.image_size / .sam_config.patch_size
whole  = .sam_config.global_attn_indexes has i
side   = whole ? square : .sam_config.window_size       # keys of a row or a column
biased = .sam_config.qkv_bias * 3*s + s
out    = .sam_config.output_channels
downs  = .sam_config.downsample_channels ?? [512, 896]
h      = .encoder_config.hidden_size
f      = .encoder_config.intermediate_size
heads  = .encoder_config.num_attention_heads
kv     = .encoder_config.num_key_value_heads
dim    = h / heads
qkv    = (heads + 2*kv) * dim
cells  = merged(4)
squares = merged_squares(4)
layers = deep + .encoder_config.num_hidden_layers
norms  = sam ? 4*s : 2*h
final_norm = h
stem:
  patches channels .sam_config.num_channels, side .sam_config.patch_size, width s, bias s
  positions count square*square * s  if .sam_config.use_abs_pos
mixer:
  gqa heads sheads, dim sdim, width s, bias biased, fused, sees (whole ? both : grid(.sam_config.window_size))  if sam
  linear in sdim, out 2*side * sheads, as attention.positions, no_lora, shared_weights      if sam and .sam_config.use_rel_pos
  positions count 2 * (2*side - 1) * sdim                                                   if sam and .sam_config.use_rel_pos
  # Cells, and queries by the same weights.
  linear in h, out qkv, as attention.qkv qkv_proj, from x, to a, units cells, bias qkv      if not sam
  linear in h, out qkv, as attention.qkv qkv_proj, from x, to a, units cells, shared_weights  if not sam
  core heads heads, dim dim, as attention.core, from a a a, to b, sees squares, times 2     if not sam
  core heads heads/2, dim dim, as attention.core, from a a a, to b, sees squares            if not sam
  core heads heads/2, dim dim, as attention.core, from a a a, to b, pairs 1, over cells     if not sam
  linear in heads*dim, out h, as attention.output o_proj, from b, units cells               if not sam
  linear in heads*dim, out h, as attention.output o_proj, from b, units cells, shared_weights  if not sam
feed:
  mlp inner sf, width s, bias sf + s         if sam
  gated inner f, over cells                  if not sam
  gated inner f, over cells, shared_weights  if not sam
more:
  linear in s, out out,           as neck conv1, from x, to a, norm 2*out, split replicated                   if i == deep - 1
  linear in 9*out, out out,       as neck conv2, from a, to b, no_lora, norm 2*out, split replicated          if i == deep - 1
  linear in 9*out, out downs[0],  as neck downsample1, from b, to c, no_lora, units merged(2), split replicated  if i == deep - 1
  linear in 9*downs[0], out downs[1], as neck downsample2, from c, to d, no_lora, units cells, split replicated  if i == deep - 1
once:  positions count (144 + 256) * h
class VisionModel:
require size(downs) == 2: .sam_config.downsample_channels must be two numbers
require downs[1] == h: .sam_config.downsample_channels[1] must be the encoder's hidden_size ({h})
require heads % 2 == 0: .encoder_config.num_attention_heads must be even, since queries see half of each other
require not .encoder_config.use_sliding_window: .encoder_config.use_sliding_window must be false
note yes: tiles of 768 or 1024 pixels: a tile has as many queries as merged cells
)page";

}  // namespace floptally::models
