// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gptj[] = R"page(
page gptj : gpt2 prefix GPTJ
with vocab_size 50400, n_embd 4096, n_layer 28, n_head 16, tie_word_embeddings no
without n_positions, summary_type, summary_use_proj, summary_proj_to_labels
norms  = 2*h                      # attention and MLP side by side share one
bias   = 0
fused_qkv = no
beside = yes
positions = 0
class ForCausalLM: head out v, bias, words
class Model:
class ForSequenceClassification: head out labels
class ForQuestionAnswering: head out labels, bias
)page";

}  // namespace floptally::models
