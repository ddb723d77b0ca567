// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma3n_text[] = R"page(
page gemma3n_text : llama prefix Gemma3n
with vocab_size 262400, hidden_size 2048, intermediate_size 16384 or list of numbers, num_hidden_layers 35, num_attention_heads 8
with num_key_value_heads 2, head_dim 256, tie_word_embeddings yes
with layer_types list? each of full_attention attention sliding_attention, sliding_window 512?
with num_kv_shared_layers 15 from 0, altup_num_inputs 4 from 2, laurel_rank 64
with hidden_size_per_layer_input 256 from 0, vocab_size_per_layer_input 262144
without mlp_bias
norms  = 4*h
f      = .intermediate_size[i]                     # may list the width of each layer
period = 5                                         # the last layer of each is full
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % period != 0
sees   = slides ? window(.sliding_window) : causal
# The last layers reuse keys and values of the last layer of their kind that has its own.
own    = max(layers - .num_kv_shared_layers, 0)
kvs    = i < own ? 2 : 0                           # projections: keys and values
q      = heads * dim
k      = kv * dim
mixer:
  linear in h, out q, as attention.qkv, split heads heads
  linear in h, as attention.qkv, out k, applied kvs, split kv_heads kv  if kvs > 0
  core heads heads, dim dim
  linear in q, out h, as attention.output, split heads heads
  norm count (kvs > 0 ? 2 : 1) * dim
  bias count .attention_bias ? q + kvs*k + h : 0
feed:  gated inner f
# Each layer has an input of its own: a gate and a projection around the product with it. AltUp keeps n streams of the
# hidden state, of which a layer computes one: it predicts all n from a map n x n of each token, and corrects them
# after; the router runs before and after. LAuReL: a low-rank residual.
p      = .hidden_size_per_layer_input
n      = .altup_num_inputs
more:
  linear in h, as per_layer_input, out p, applied 2  if p > 0
  norm count h
  linear in h, out n, applied 2, stored 1, as altup
  linear in n, out n*n, as altup
  linear in n, out n, as altup
  state per h*n*n, as altup
  linear in h, out .laurel_rank, applied 2, as laurel
  norm count 3*h                                   # the router's and LAuReL's norm, a scale of the corrected stream
# The table of all layers' inputs and their projection from the embedding; streams are made and joined.
once:
  linear in h, as per_layer_input, out p*layers  if p > 0
  table count .vocab_size_per_layer_input * p * layers  if p > 0
  norm count p
  linear in h, out h, applied 2*(n - 1), as altup
listed = times(.layer_types, .layer_types[i], own)
before = given(.layer_types) ? listed : slides ? own : own / period
require i < own or before > 0: .num_kv_shared_layers must leave a layer of each kind with keys and values of its own among the {layers}
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
