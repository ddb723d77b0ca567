// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char esmc[] = R"page(
page esmc : bert prefix Esmc
with vocab_size 64, hidden_size 2560, intermediate_size 6912, num_hidden_layers 80, num_attention_heads 40, tie_word_embeddings no
with num_key_value_heads number?, head_dim number?, attention_bias no, mlp_bias no
without max_position_embeddings, type_vocab_size
kv     = .num_key_value_heads ?? heads
dim    = .head_dim ?? h / heads
qk_norm = (heads + kv) * dim
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
first_norm = 0
positions = 0
feed:  gated inner f, bias .mlp_bias * (2*f + h)
once:  norm count h              # after the last layer, without the bias that the others have
class ForMaskedLM:
  head out h, bias, norm 2
  head out v, bias, words
class Model:
classes ForSequenceClassification
class ForTokenClassification: head out labels, bias .token_classification_bias
require kv == heads: .num_key_value_heads must be num_attention_heads ({heads})
require not .is_decoder: .is_decoder is not supported; must be false or absent
require heads * dim == h: .head_dim must be hidden_size / num_attention_heads ({h} / {heads})
require not .tie_word_embeddings: .tie_word_embeddings is not supported; must be false or absent
)page";

}  // namespace floptally::models
