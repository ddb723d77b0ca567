// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char whisper[] = R"page(
page whisper : whisper.encoder prefix Whisper
encoder whisper.encoder
with decoder_layers 4, decoder_attention_heads 6, decoder_ffn_dim 1536, max_target_positions 448
layers = .decoder_layers
heads  = .decoder_attention_heads
f      = .decoder_ffn_dim
norms  = 6*h
sees   = causal
positions = .max_target_positions
stem:
cross: cross heads heads, dim dim, bias bias
once:
class ForConditionalGeneration: head out v, words
class Model:
class ForCausalLM: as whisper.decoder
class ForAudioClassification: as whisper.encoder

page whisper.encoder : base.tower prefix Whisper
with vocab_size 51865, d_model 384, encoder_layers 4, encoder_attention_heads 6, encoder_ffn_dim 1536, num_mel_bins 80
with max_source_positions 1500, tie_word_embeddings yes, use_weighted_layer_sum no, classifier_proj_size 256
stands = "audio"
v      = .vocab_size
tied   = .tie_word_embeddings
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .encoder_layers
heads  = .num_attention_heads // .encoder_attention_heads
f      = .encoder_ffn_dim
bias   = 3*h
units  = frames(field(3, [1, 2], 1), 2)
attends = frame_squares(field(3, [1, 2], 1), 2)
clip   = 2 * .max_source_positions
mtp_norms = norms + 6*h
stem:
  convolutions channels .num_mel_bins, kernels [3, 3], out h, strides [1, 2], paddings 1, biased
  positions count .max_source_positions * h
once: bias count layers + 1  if .use_weighted_layer_sum
class ForAudioClassification:
  head out .classifier_proj_size, bias
  head in .classifier_proj_size, out labels, bias, per_sequence

page whisper.decoder : whisper
encoder none
cross:
  linear in h, out heads*dim, applied 0, stored 4, as cross_attention, bias bias
class ForCausalLM: head out v, words
)page";

}  // namespace floptally::models
