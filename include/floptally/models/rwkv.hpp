// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char rwkv[] = R"page(
page rwkv : base.decoder prefix Rwkv
with vocab_size 50277, hidden_size 4096, num_hidden_layers 32, num_attention_heads 1, intermediate_size number?
with attention_hidden_size number?
f      = .intermediate_size ?? 4*h
width  = .attention_hidden_size ?? h
norms  = 4*h
final_norm = 2*h
first_norm = 2*h
mtp_norms = norms + 6*h
# Decay and bonus; how much of the token before is in key, value and receptance.
mixer: time_mix inner width, bias 2*width + 3*h
feed:  channel_mix inner f, bias 2*h
classes ForCausalLM Model
)page";

}  // namespace floptally::models
