// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char xlnet[] = R"page(
# Adds to QK^T a product with projected relative positions, of which a sequence has twice as many as tokens. Segments,
# where the input has them, would add a third; no config says so.
page xlnet : base.decoder prefix XLNet
with vocab_size 32000, n_token number absent, d_model 1024, n_layer 24, n_head 16, d_inner 4096, d_head number?
with tie_word_embeddings yes, attn_type "bi" of bi, summary_use_proj yes
without intermediate_size
divides = yes
v      = .vocab_size // .n_token
h      = .hidden_size // .d_model
layers = .num_hidden_layers // .n_layer
heads  = .num_attention_heads // .n_head
f      = .d_inner
norms  = 4*h
final_norm = 0
mtp_norms = norms + 6*h
wide   = heads * dim
mixer:
  linear as attention.qkv, in h, out wide, applied 3, split heads heads
  linear as attention.positions, in h, out wide, applied 2, stored 1
  core heads heads, dim 2*dim, v_dim dim, sees both
  linear as attention.output, in wide, out h, split heads heads
  bias count 5*wide               # of the three products, and two segments
feed:  mlp inner f, bias f + h
once:  positions count h          # what stands for a token to predict
require (.n_token ?? v) == v: .n_token must be vocab_size ({v})
require (.d_head ?? dim) == dim: .d_head must be d_model / n_head ({dim})
class LMHeadModel: head out v, bias, words
class Model:
class ForSequenceClassification:
  head out h, bias, per_sequence  if .summary_use_proj
  head out labels, bias, per_sequence
class ForTokenClassification: head out labels, bias
class ForQuestionAnsweringSimple: head out labels, bias
class ForMultipleChoice:
  head out h, bias, per_sequence  if .summary_use_proj
  head out 1, bias, per_sequence
)page";

}  // namespace floptally::models
