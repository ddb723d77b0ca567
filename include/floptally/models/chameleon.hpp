// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char chameleon[] = R"page(
# A text whose words are images too: an autoencoder makes their tokens.
page chameleon : llama prefix Chameleon
with vocab_size 65536, num_key_value_heads 32?, swin_norm any?, model_parallel_size any?, vq_config any?, vocabulary_map any?
with mlp_bias any?                # said by the class, which does not read it
without head_dim
dim    = h / heads
divides = yes
qk_norm = 2 * (heads + kv) * dim
feed:  gated inner f
class ForConditionalGeneration: head out v, words
class Model:
note yes: an image is tokens of the text: neither the autoencoder that makes them (vq_config) nor its parameters are counted
)page";

}  // namespace floptally::models
