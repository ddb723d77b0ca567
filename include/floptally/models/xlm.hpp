// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char xlm[] = R"page(
page xlm : base.decoder prefix XLM
with vocab_size 30145, n_words number absent, emb_dim 2048, n_layers 12, n_heads 16, max_position_embeddings 512
with tie_word_embeddings yes, causal no, asm no?, is_encoder yes, n_langs 1, use_lang_emb yes
with summary_type "cls_index" of cls_index first last mean, summary_use_proj yes, summary_proj_to_labels yes
without intermediate_size
divides = yes
v      = .vocab_size // .n_words
h      = .hidden_size // .emb_dim
layers = .num_hidden_layers // .n_layers
heads  = .num_attention_heads // .n_heads
f      = 4*h
positions = .max_position_embeddings
first_norm = 2*h                  # of the embedding
norms  = 4*h
final_norm = 0
mtp_norms = norms + 6*h
sees   = .causal ? causal : both
bias   = 4*h
feed:  mlp inner f, bias f + h
once:  positions count .n_langs * h  if .n_langs > 1 and .use_lang_emb
require (.n_words ?? v) == v: .n_words must be vocab_size ({v})
require not .asm: .asm is not supported; must be false or absent
require .is_encoder: .is_encoder is not supported; must be true or absent
summary = .summary_proj_to_labels ? labels : h
class WithLMHeadModel: head out v, bias, words
class Model:
class ForSequenceClassification:
  head out summary, bias, per_sequence  if .summary_use_proj
class ForTokenClassification: head out labels, bias
class ForQuestionAnsweringSimple: head out labels, bias
class ForMultipleChoice:
  head out summary, bias, per_sequence  if .summary_use_proj
  head in labels, out 1, bias, per_sequence
)page";

}  // namespace floptally::models
