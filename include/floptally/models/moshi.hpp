// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char moshi[] = R"page(
# The temporal transformer of Moshi. The decoder of the codebooks of a frame, which stands behind it, is not in these classes.
page moshi : llama prefix Moshi
with ffn_dim 22528, sliding_window any?, num_codebooks any?, audio_vocab_size any?, num_key_value_heads number?
without intermediate_size, attention_bias, mlp_bias
f      = .ffn_dim / 2                             # the first matrix makes gate and value
bias   = 0
sees   = causal                                    # sliding_window is what its cache keeps
feed:  gated inner f, fused
once:  table count h                              # one more than the words
class ForCausalLM: head out v, words
class Model:
require .ffn_dim % 2 == 0: .ffn_dim must be even
)page";

}  // namespace floptally::models
