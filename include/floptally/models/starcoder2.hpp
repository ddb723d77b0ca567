// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char starcoder2[] = R"page(
page starcoder2 : mistral prefix Starcoder2
with vocab_size 49152, hidden_size 3072, intermediate_size 12288, num_hidden_layers 30, num_attention_heads 24
with num_key_value_heads 2, sliding_window number?, use_bias yes, tie_word_embeddings yes
without layer_types
slides = given(.sliding_window)
norms  = 4*h
final_norm = 2*h
mtp_norms = norms + 6*h
bias   = .use_bias ? (heads + 2*kv) * dim + h : 0
feed:  mlp inner f, bias .use_bias * (f + h)
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
