// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kosmos_2[] = R"page(
page kosmos-2 : base.composite prefix Kosmos2
with latent_query_num 64, tie_word_embeddings yes
inner text .text_config: kosmos-2.text, always
inner vision .vision_config: kosmos-2.vision, always
tied   = .tie_word_embeddings or text.tied
n      = .latent_query_num                        # learned rows of each image
t      = text.h
own    = 1                                       # the class token, which is seen too
vision_per_frame = n
# Learned rows see the patches and each other.
vision_projector:
  linear in vision.h, out t, as projector dense, from x, to y, prefix own, bias t
  linear in t, out t, as queries.qkv q_proj, from x, to a, per_sequence, rows n, split heads text.heads
  linear in t, out t, as queries.qkv k_proj, from y, to b, prefix own, split kv_heads text.heads
  linear in t, out t, as queries.qkv k_proj, from x, to b, per_sequence, rows n, shared_weights, split kv_heads text.heads
  linear in t, out t, as queries.qkv v_proj, from y, to c, prefix own, split kv_heads text.heads
  linear in t, out t, as queries.qkv v_proj, from x, to c, per_sequence, rows n, shared_weights, split kv_heads text.heads
  core heads text.heads, dim text.dim, as queries.core, from a b c, to d, pairs n, prefix own
  core heads text.heads, dim text.dim, as queries.core, from a b c, to d, pairs n*n, per_sequence
  linear in t, out t, as queries.output o_proj, from d, per_sequence, rows n, split heads text.heads
  bias count 4*t
  positions count n * t
class ForConditionalGeneration: text ForCausalLM
class Model: text Model

page kosmos-2.text : base.decoder prefix Kosmos2Text
with vocab_size 65037, embed_dim 2048, layers 24, ffn_dim 8192, attention_heads 32, layerdrop any?, tie_word_embeddings yes
h      = .hidden_size // .embed_dim
layers = .num_hidden_layers // .layers
heads  = .num_attention_heads // .attention_heads
f      = .ffn_dim
bias   = 4*h
norms  = 6*h + 2*f                # one inside the attention, one inside the feed-forward
final_norm = 2*h
divides = yes
feed:  mlp inner f, bias f + h
class ForCausalLM: head out v, words
class Model:

page kosmos-2.vision : clip_vision_model prefix Kosmos2
with hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16, patch_size 14
)page";

}  // namespace floptally::models
