// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char phi[] = R"page(
page phi : llama prefix Phi
with vocab_size 51200, hidden_size 2048, intermediate_size 8192, num_hidden_layers 24
with head_dim number absent, qk_layernorm no
without attention_bias, mlp_bias
divides = no
beside = yes
norms  = 2*h                      # attention and MLP side by side share one
final_norm = 2*h
mtp_norms = norms + 6*h
bias   = (heads + 2*kv) * dim + h
feed:  mlp inner f, bias f + h
more:  norm count 4*(h / heads)  if .qk_layernorm
class ForCausalLM: head out v, bias, words
class Model:
class ForSequenceClassification: head out labels
class ForTokenClassification: head out labels, bias .token_classification_bias
)page";

}  // namespace floptally::models
