// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char seamless_m4t[] = R"page(
# Speech or text in, text out, of one decoder. What makes speech of the text (units, a vocoder) trains by itself.
page seamless_m4t : m2m_100 prefix SeamlessM4T
encoder seamless_m4t.speech
with vocab_size 256102, hidden_size 1024, encoder_layers 24, encoder_ffn_dim 8192, encoder_attention_heads 16
with decoder_layers 24, decoder_ffn_dim 8192, decoder_attention_heads 16
with t2u_vocab_size any?, t2u_encoder_layers any?, t2u_encoder_ffn_dim any?, t2u_encoder_attention_heads any?
with t2u_decoder_layers any?, t2u_decoder_ffn_dim any?, t2u_decoder_attention_heads any?, t2u_max_position_embeddings any?
with t2u_variance_predictor_embed_dim any?, t2u_variance_predictor_hidden_dim any?, t2u_variance_predictor_kernel_size any?
with upsample_initial_channel any?, upsample_rates any?, upsample_kernel_sizes any?, resblock_kernel_sizes any?
with resblock_dilation_sizes any?, unit_hifi_gan_vocab_size any?, unit_embed_dim any?, lang_embed_dim any?, spkr_embed_dim any?
with vocoder_num_langs any?, vocoder_num_spkrs any?, variance_predictor_kernel_size any?, char_vocab_size any?
with t2u_max_new_tokens any?, max_new_tokens any?
without d_model
# Not tied, the decoder has a table of its own, and the one that they would share is kept besides.
once:  table count tied ? 0 : v*h
class ForSpeechToText: head out v, words
class ForTextToText: as seamless_m4t.text

page seamless_m4t.text : seamless_m4t
encoder m2m_100.encoder
with encoder_layers 24, encoder_ffn_dim 8192, encoder_attention_heads 16
once:  table count tied ? 0 : 2*v*h
class ForTextToText: head out v, words

# A conformer over given features, a feed-forward behind it, and one layer over every eighth frame.
page seamless_m4t.speech : base.tower prefix SeamlessM4T
with hidden_size 1024, speech_encoder_layers 24, speech_encoder_attention_heads 16, speech_encoder_intermediate_size 4096
with feature_projection_input_dim 160, position_embeddings_type "relative", conv_depthwise_kernel_size 31, add_adapter yes
with num_adapter_layers 1, adaptor_kernel_size 8, adaptor_stride 8, speech_encoder_layerdrop 0.1 from 0
with num_conv_pos_embeddings any?, num_conv_pos_embedding_groups any?
without intermediate_size, num_hidden_layers, num_attention_heads
stands = "audio"
layers = .speech_encoder_layers
heads  = .speech_encoder_attention_heads
f      = .speech_encoder_intermediate_size
relative = .position_embeddings_type == "relative"
by_distance = no
distances = 0
bias   = 4*h
norms  = 6 * 2*h                                  # one of them is of the batch
inputs = .feature_projection_input_dim
k      = .adaptor_kernel_size
s      = .adaptor_stride
fewer  = .add_adapter ? frames(k - s/2 * 2, s) : frames(1, 1)
squares = frame_squares(k - s/2 * 2, s)
tokens_for = fewer
stem:  linear in inputs, out h, as stem projection, from x, norm 2*inputs, bias h, split repeated
mixer:
  gqa heads heads, dim dim, bias bias
  linear in h, out h, applied 2, stored 1, input, no_lora, as attention.positions, bias 2*h  if relative
  scores as attention.positions, per h  if relative or by_distance
  positions count distances * dim  if by_distance
more:
  mlp inner f, bias f + h
  linear in h, out 2*h, as convolution, no_lora
  linear in .conv_depthwise_kernel_size, out h, as convolution, no_lora
  linear in h, out h, as convolution, no_lora
after:
  mlp inner f, bias f + h, named "intermediate"
  norm count 2*h
  convolutions channels h, as adapter, kernels [k], out 2*h, strides [s], paddings s/2, biased, gated, inside,
         field 1, stride 1  if .add_adapter
  convolutions channels h, as adapter, kernels [k], out 2*h, strides [s], paddings s/2, biased, gated, inside,
         field 1, stride 1  if .add_adapter
  gqa heads heads, dim dim, bias 4*h, norm 6*h, over fewer, attends squares, named "adapter"  if .add_adapter
  mlp inner f, bias f + h, over fewer, attends squares, named "adapter"  if .add_adapter
class Model:
note .speech_encoder_layerdrop > 0.0: speech_encoder_layerdrop skips layers at random in training: counted as if none were skipped
require .conv_depthwise_kernel_size % 2 == 1: .conv_depthwise_kernel_size must be odd
require not .add_adapter or .num_adapter_layers == 1: .num_adapter_layers must be 1
)page";

}  // namespace floptally::models
