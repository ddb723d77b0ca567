// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gpt2[] = R"page(
page gpt2 : gpt_neox prefix GPT2
with vocab_size 50257, n_embd 768, n_layer 12, n_head 12, n_inner number?, n_positions 1024, tie_word_embeddings yes
with summary_type "cls_index" of cls_index first last mean, summary_use_proj yes, summary_proj_to_labels yes
without attention_bias, use_parallel_residual
h      = .hidden_size // .n_embd
layers = .num_hidden_layers // .n_layer
heads  = .num_attention_heads // .n_head
f      = .n_inner ?? 4*h
bias   = 4*h
beside = no
positions = .max_position_embeddings // .n_positions
class LMHeadModel: head out v, words
class Model:
class ForSequenceClassification: head out labels
class ForTokenClassification: head out labels, bias
class ForQuestionAnswering: head out 2, bias
class DoubleHeadsModel:
  head out v, words
  head out .summary_proj_to_labels ? 1 : h, bias, per_sequence  if .summary_use_proj
class ForCausalLMOfImages: as gpt2.of_images        # as vision-encoder-decoder has it

# With attention over a tower in each layer.
page gpt2.of_images : gpt2
norms  = 6*h
cross: cross heads heads, dim dim, bias bias
class ForCausalLMOfImages: head out v, words
)page";

}  // namespace floptally::models
