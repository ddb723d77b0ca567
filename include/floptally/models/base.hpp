// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char base[] = R"page(
# What most pages stand on. No type of its own: sizes, the parts of a plain decoder, and what no page follows.
page base
with hidden_size number, num_hidden_layers number, num_attention_heads number, intermediate_size number
with add_cross_attention no, is_folding_model no, is_causal yes
with use_bidirectional_attention flag or text? of all vision
with per_layer_config list or object?, pruned_heads list or object?
h      = .hidden_size
layers = .num_hidden_layers
heads  = .num_attention_heads
kv     = heads
dim    = h / heads
f      = .intermediate_size
norms  = 2*h                      # parameters of the norms of one layer
final_norm = h                    # of the norm after the last layer
qk_norm = 0
beside = no                       # whether the feed-forward reads what entered the layer, and not what the attention made
fused_qkv = no                    # whether the class has one matrix of queries, keys and values
bias   = 0                        # of the attention
sees   = causal
mixer: gqa heads heads, kv kv, dim dim, norm qk_norm, bias bias, sees sees, fused fused_qkv
feed:  gated inner f
both_ways = .use_bidirectional_attention == yes or .use_bidirectional_attention == "all"
honours_both_ways = no
honours_per_layer_config = no
divides = no                      # whether the class refuses heads that do not divide hidden_size
require dim > 0: .num_attention_heads must be at most hidden_size ({h})
require not divides or h % heads == 0: .num_attention_heads must divide hidden_size ({h})
require not .add_cross_attention: .add_cross_attention is not supported; must be false or absent
require not .is_folding_model: .is_folding_model is not supported; must be false or absent
require .is_causal: .is_causal is not supported; must be true or absent
require honours_both_ways or not both_ways: .use_bidirectional_attention is not supported; must be false or absent
require honours_per_layer_config or size(.per_layer_config) == 0: .per_layer_config is not supported; must be empty or absent
require size(.pruned_heads) == 0: .pruned_heads is not supported; must be empty or absent

# A decoder over a vocabulary, with the classes that most have.
page base.decoder : base
with vocab_size number, tie_word_embeddings no, num_labels number absent, id2label object?
with token_classification_bias yes
v      = .vocab_size
tied   = .tie_word_embeddings
labels = .num_labels ?? (given(.id2label) ? size(.id2label) : 2)
mtp_norms = norms + 3*h           # of one layer of multi-token prediction
class ForCausalLM: head out v, words
class Model:
class ForSequenceClassification: head out labels
class ForTokenClassification: head out labels, bias .token_classification_bias
class ForQuestionAnswering: head out 2, bias

# A tower: pixels or sound in place of a vocabulary. What makes its tokens is its `stem`.
page base.tower : base
with num_labels number absent, id2label object?
labels = .num_labels ?? (given(.id2label) ? size(.id2label) : 2)
stands = "vision"
norms  = 4*h
final_norm = 2*h
sees   = both
feed:  mlp inner f, bias f + h
divides = yes

# A model of a text and towers.
page base.composite
with tie_word_embeddings no, num_labels number absent, id2label object?
with vocab_size number?, transformers_version text?, text_config.tie_word_embeddings flag?
labels = .num_labels ?? (given(.id2label) ? size(.id2label) : 2)
tied   = .tie_word_embeddings
# Of a class that ties unless it is told, and whose config does not say: what its text_config says. In a file of version 4, what
# the class of its text does: that version tied as the text, and such a checkpoint has both matrices.
tied_unsaid = given(.text_config.tie_word_embeddings) or .transformers_version begins "4." ? text.tied : yes
note given(.vocab_size) and .vocab_size != text.v: vocab_size ({.vocab_size}) is not that of the text ({text.v}), which counts
class ForConditionalGeneration: text ForCausalLM
class Model: text Model
)page";

}  // namespace floptally::models
