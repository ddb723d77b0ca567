// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char phimoe[] = R"page(
page phimoe : mixtral prefix Phimoe
with vocab_size 32064, intermediate_size 6400, head_dim number absent, attention_bias no, lm_head_bias no
with num_local_experts 16
without layer_types
norms  = 4*h
final_norm = 2*h
mtp_norms = norms + 6*h
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
feed:  experts of .num_local_experts, top .num_experts_per_tok, inner f
require .num_experts_per_tok == 2: .num_experts_per_tok is not supported; must be 2 or absent
class ForCausalLM: head out v, bias .lm_head_bias, words
class Model:
class ForSequenceClassification: head out labels
)page";

}  // namespace floptally::models
