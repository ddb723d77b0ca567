// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lfm3[] = R"page(
page lfm3 : lfm2 prefix Lfm3
with vocab_size 128000, hidden_size 2048, intermediate_size 7680, num_hidden_layers 24, num_attention_heads 16
with num_key_value_heads 4, head_dim 128, attention_bias no, conv_L_cache 7, sliding_window 256?
with layer_types list? each of full_attention conv sliding_attention, use_sandwich_norm yes, use_attention_gate yes
without full_attn_idxs, block_auto_adjust_ff_dim, block_multiple_of, block_ffn_dim_multiplier
tied   = .tie_word_embeddings
kind   = given(.layer_types) ? .layer_types[i] : i % 4 == 2 ? "full_attention" : i % 4 == 0 and i > 0 ? "sliding_attention" : "conv"
full   = kind != "conv"
slides = kind == "sliding_attention"
sees   = slides ? window(.sliding_window) : causal
norms  = .use_sandwich_norm ? 4*h : 2*h
f      = .intermediate_size
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
mixer:
  gqa heads heads, kv kv, dim dim, gate .use_attention_gate ? heads : 0, norm qk_norm, bias bias  if full
  short_convolution kernel .conv_L_cache, bias .conv_bias * 5*h  if not full
require given(.sliding_window) or not slides: .sliding_window must be an integer where layers slide
)page";

}  // namespace floptally::models
