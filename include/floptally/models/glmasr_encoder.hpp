// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glmasr_encoder[] = R"page(
page glmasr_encoder : qwen2_audio_encoder prefix GlmAsr
with hidden_size 1280, num_hidden_layers 32, num_attention_heads 20, intermediate_size 5120
with num_key_value_heads number?, head_dim number?
without d_model, encoder_layers, encoder_attention_heads, encoder_ffn_dim, max_source_positions
h      = .hidden_size
layers = .num_hidden_layers
heads  = .num_attention_heads
kv     = .num_key_value_heads ?? heads
dim    = .head_dim ?? h / heads
f      = .intermediate_size
divides = no
bias   = (heads + kv) * dim + h       # all but the key projection have one
clip   = null
stem:  convolutions channels .num_mel_bins, kernels [3, 3], out h, strides [1, 2], paddings 1, biased
)page";

}  // namespace floptally::models
