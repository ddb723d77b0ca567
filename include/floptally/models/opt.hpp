// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char opt[] = R"page(
page opt : base.decoder prefix OPT
with vocab_size 50272, hidden_size 768, ffn_dim 3072, num_hidden_layers 12, num_attention_heads 12
with tie_word_embeddings yes, enable_bias yes, word_embed_proj_dim number?, max_position_embeddings 2048
with layer_norm_elementwise_affine yes, do_layer_norm_before yes, _remove_final_layer_norm no
without intermediate_size
divides = yes
f      = .ffn_dim
embedding = .word_embed_proj_dim ?? h                 # its width; the heads see as much
last   = .do_layer_norm_before and not ._remove_final_layer_norm
norms  = 0
final_norm = 0
bias   = .enable_bias * 4*h
feed:  mlp inner f, bias .enable_bias * (f + h)
once:
  positions count (.max_position_embeddings + 2) * h  # of the layers' width; they start at 2
  linear as embedding.projection, in embedding, out h, applied 2, split replicated  if embedding != h
  norm count (2*layers + last) * 2*h  if .layer_norm_elementwise_affine
class ForCausalLM: head out v, in embedding, words
class Model:
class ForSequenceClassification: head out labels, in embedding
class ForQuestionAnswering: head out 2, in embedding, bias
)page";

}  // namespace floptally::models
