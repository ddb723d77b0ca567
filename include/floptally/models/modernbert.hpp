// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char modernbert[] = R"page(
page modernbert : base.decoder prefix ModernBert
with vocab_size 50368, hidden_size 768, intermediate_size 1152, num_hidden_layers 22, num_attention_heads 12
with layer_types list? each of full_attention attention sliding_attention, global_attn_every_n_layers 3 to 10000
with sliding_window number? to 2147483647, local_attention 128 from 2 to 2147483647
with attention_bias no, mlp_bias no, norm_bias no, classifier_bias no, decoder_bias yes, tie_word_embeddings yes
with is_decoder no, sparse_prediction no?, deterministic_flash_attn any?
divides = yes
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i % .global_attn_every_n_layers != 0
width  = .sliding_window ?? .local_attention / 2         # tokens seen on each side
sees   = slides ? around(width, width) : both
per_norm = .norm_bias ? 2 : 1
bias   = .attention_bias * 4*h
norms  = 0
final_norm = 0
fused_qkv = yes
feed:  gated inner f, bias .mlp_bias * (2*f + h), fused
once:  norm count (2*layers + 1) * per_norm * h          # the first layer has one, others two; after embedding and layers
class ForMaskedLM:
  head out h, bias .classifier_bias, norm per_norm
  head out v, bias .decoder_bias, words
class Model:
class ForSequenceClassification:
  head out h, bias .classifier_bias, norm per_norm, per_sequence
  head out labels, bias, per_sequence
class ForMultipleChoice:
  head out h, bias .classifier_bias, norm per_norm, per_sequence
  head out 1, bias, per_sequence
class ForTokenClassification:
  head out h, bias .classifier_bias, norm per_norm
  head out labels, bias
class ForQuestionAnswering:
  head out h, bias .classifier_bias, norm per_norm
  head out labels, bias
require not .is_decoder: .is_decoder is not supported; must be false or absent
require not .sparse_prediction: .sparse_prediction is not supported; must be false or absent
)page";

}  // namespace floptally::models
