// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lfm2[] = R"page(
page lfm2 : llama prefix Lfm2
with vocab_size 65536, hidden_size 2560, intermediate_size 12288, num_key_value_heads 8, head_dim number absent
with tie_word_embeddings yes, conv_L_cache 3, conv_bias no
with layer_types list? each of full_attention attention conv, full_attn_idxs list?
with block_auto_adjust_ff_dim yes, block_multiple_of 256, block_ffn_dim_multiplier 1.0 to 1024
without attention_bias, mlp_bias
divides = no
tied    = .tie_embedding // .tie_word_embeddings
full    = given(.layer_types) ? .layer_types[i] != "conv" : given(.full_attn_idxs) ? .full_attn_idxs has i : yes
qk_norm = 2*dim
# Two thirds of the stated width, times a factor, rounded up.
stated  = .block_ff_dim // .intermediate_size
most    = floor(.block_ffn_dim_multiplier * (2*stated / 3))
f       = .block_auto_adjust_ff_dim ? ceil(most, .block_multiple_of) * .block_multiple_of : stated
mixer:
  gqa heads heads, kv kv, dim dim, norm qk_norm  if full
  short_convolution kernel .conv_L_cache, bias .conv_bias * 5*h  if not full
feed:  gated inner f
classes ForCausalLM Model
)page";

}  // namespace floptally::models
