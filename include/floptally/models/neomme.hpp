// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char neomme[] = R"page(
# Words and patches of documents side by side in one encoder: no tower, but an MLP of each patch.
page neomme : base.composite prefix NeoMME
with patch_size 32, tie_word_embeddings yes
inner text .text_config: neomme.text, always, flat
inner vision .vision_config: fuyu.patches, always
vision_per_token = 1
inside = 3 * .patch_size * .patch_size
vision_projector:
  linear in inside, out 2*text.h, as projector up_proj, from x, to up, norm 2*inside
  linear in 2*text.h, out text.h, as projector down_proj, from up, to y, bias text.h
class ForMaskedLM: text ForMaskedLM
class ForRetrieval: text ForRetrieval
class Model: text Model

# A table of low rank and a projection of each word; another table, whose values the first and the last full layer add.
page neomme.text : base.decoder prefix NeoMME
with vocab_size 131072, embedding_rank 256, hidden_size 1024, intermediate_size 3584, mlp_bias no, num_hidden_layers 17
with num_attention_heads 16, num_key_value_heads 4, head_dim 64, attention_bias no, tie_word_embeddings yes
with layer_types list? each of full_attention sliding_attention, sliding_window 256?, embedding_dim 128
with patch_size any?
kv     = .num_key_value_heads
dim    = .head_dim
norms  = 0
final_norm = 0
embedding = .embedding_rank
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : (i + 1) % 6 != 0 and i != layers - 1
# Every second window is long.
before = given(.layer_types) ? times(.layer_types, "sliding_attention", i) : i - i / 6
reach  = size(.per_layer_config) > 0 ? of_layer(.per_layer_config, i, "sliding_window") ?? .sliding_window : before % 2 == 0 ? .sliding_window : 1024
sees   = slides ? around(reach, reach) : both
honours_per_layer_config = yes
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
mixer: gqa heads heads, kv kv, dim dim, gate heads * dim, norm 2 + heads, bias bias
feed:  mlp inner f, bias .mlp_bias * (f + h)
once:
  linear in .embedding_rank, out h, as embedding embedding_projection
  table count v * kv * dim
class ForMaskedLM:
  linear in h, out .embedding_rank, as lm_head unembedding_projection, from x, shared_weights tied
  head out v, in .embedding_rank, words
class ForRetrieval: head out .embedding_dim
class Model:
require heads % kv == 0: .num_key_value_heads must divide num_attention_heads ({heads})
require given(.sliding_window) or not slides: .sliding_window must be an integer where layers slide
)page";

}  // namespace floptally::models
