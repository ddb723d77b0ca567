// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char bart[] = R"page(
page bart : bart.encoder prefix Bart
encoder bart.encoder
with decoder_layers 12, decoder_attention_heads 16, decoder_ffn_dim 4096, decoder_layerdrop any?, encoder_layerdrop any?
layers = .decoder_layers
heads  = .decoder_attention_heads
f      = .decoder_ffn_dim
norms  = 6*h
mtp_norms = norms + 6*h
sees   = causal
divides = no                                       # by a rule of its own, which names the decoder's heads
drops  = 0.0                                       # rates of skipped layers by default
cross: cross heads heads, dim dim, bias bias
# Not tied, each side has a table of its own, and the one that they would share is kept besides.
once:  table count tied ? 0 : 2*v*h
require h % heads == 0: .decoder_attention_heads must divide hidden_size ({h})
note lone == no and (.encoder_layerdrop ?? drops) > 0: encoder_layerdrop skips layers at random in training: counted as if none were skipped
note (.decoder_layerdrop ?? drops) > 0: decoder_layerdrop skips layers at random in training: counted as if none were skipped
lone   = no
usual  = 3                                         # labels of a classifier, where the config does not say it
labels = .num_labels ?? (given(.id2label) ? size(.id2label) : usual)
class ForConditionalGeneration: head out v, words
class Model:
class ForCausalLM: as bart.decoder
class ForCausalLMOfImages: as bart.of_images        # as vision-encoder-decoder has it
class ForSequenceClassification:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
class ForQuestionAnswering: head out 2, bias

page bart.encoder : base.decoder prefix Bart
with vocab_size 50265, d_model 1024, encoder_layers 12, encoder_attention_heads 16, encoder_ffn_dim 4096
with max_position_embeddings 1024, tie_word_embeddings yes
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .encoder_layers
heads  = .num_attention_heads // .encoder_attention_heads
f      = .encoder_ffn_dim
norms  = 4*h
first_norm = 2*h
final_norm = 0
bias   = 4*h
positions = .max_position_embeddings + 2
sees   = both
feed:  mlp inner f, bias f + h
divides = yes

page bart.decoder : bart
encoder none
lone   = yes
# Attention over an encoder that is not there: weights, no products.
cross: linear in h, out heads*dim, applied 0, stored 4, as cross_attention, bias bias
once:
class ForCausalLM: head out v, words

# Over a tower in its encoder's place.
page bart.of_images : bart.decoder
cross: cross heads heads, dim dim, bias bias
class ForCausalLMOfImages: head out v, words
)page";

}  // namespace floptally::models
