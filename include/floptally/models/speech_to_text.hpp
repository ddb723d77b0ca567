// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char speech_to_text[] = R"page(
page speech_to_text : bart prefix Speech2Text
encoder speech_to_text.encoder
with vocab_size 10000, d_model 256, encoder_attention_heads 4, encoder_ffn_dim 2048
with decoder_layers 6, decoder_attention_heads 4, decoder_ffn_dim 2048
without max_position_embeddings
first_norm = 0
final_norm = 2*h
positions = 0                                      # computed
usual  = 2
once:
classes ForConditionalGeneration Model

page speech_to_text.encoder : bart.encoder prefix Speech2Text
with vocab_size 10000, d_model 256, encoder_attention_heads 4, encoder_ffn_dim 2048
with num_conv_layers 2, conv_kernel_sizes [5, 5], conv_channels 1024, input_feat_per_channel 80, input_channels 1
without max_position_embeddings
stands = "audio"
first_norm = 0
final_norm = 2*h
positions = 0
# Convolutions, each gated and each halving the frames.
n       = .num_conv_layers
kernels = .conv_kernel_sizes
pads    = halves(kernels)
units   = frames(field(kernels, 2, pads), power(2, n))
attends = frame_squares(field(kernels, 2, pads), power(2, n))
stem:
  convolutions channels .input_feat_per_channel * .input_channels, kernels kernels, strides 2, paddings pads,
               out filled(n, .conv_channels, 2*h), biased, gated
require size(kernels) == n: .conv_kernel_sizes must list {n} kernels
require .conv_channels % 2 == 0: .conv_channels must be even
)page";

}  // namespace floptally::models
