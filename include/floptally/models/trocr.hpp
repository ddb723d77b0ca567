// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char trocr[] = R"page(
page trocr : bart prefix TrOCR
encoder none
with max_position_embeddings 512, use_learned_position_embeddings yes, layernorm_embedding yes, is_decoder any?
with cross_attention_hidden_size number?
without encoder_layers, encoder_attention_heads, encoder_ffn_dim, encoder_layerdrop
layers = .num_hidden_layers // .decoder_layers
heads  = .num_attention_heads // .decoder_attention_heads
lone   = yes
first_norm = .layernorm_embedding ? 2*h : 0
positions = .use_learned_position_embeddings ? .max_position_embeddings + 2 : 0
said_context = .cross_attention_hidden_size
context = said_context ?? h
# Attention over a tower that is not there: weights, no products.
cross:
  linear in h, out heads*dim, applied 0, stored 2, as cross_attention, bias bias
  linear in context, out heads*dim, applied 0, stored 2, as cross_attention
once:
class ForCausalLM: head out v, words
class ForCausalLMOfImages: as trocr.of_images       # as vision-encoder-decoder has it

page trocr.of_images : trocr
cross: cross heads heads, dim dim, context context, bias bias
class ForCausalLMOfImages: head out v, words
)page";

}  // namespace floptally::models
