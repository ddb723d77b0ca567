// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char molmo2_text[] = R"page(
page molmo2_text : llama prefix Molmo2
with vocab_size 151936, additional_vocab_size 128 from 0, intermediate_size 12288, num_hidden_layers 36
with num_key_value_heads 8, head_dim 128, qk_norm_type "qwen3" of qwen3 olmo
without mlp_bias
divides = no
qk_norm = .qk_norm_type == "olmo" ? (heads + kv) * dim : 2*dim
biased  = .qkv_bias // .attention_bias
bias    = biased ? (heads + 2*kv) * dim : 0
tied    = no                       # nothing of the class is
feed:  gated inner f
once:  table count .additional_vocab_size * h
class TextModel:
class ForConditionalGeneration: head out v, words
)page";

}  // namespace floptally::models
