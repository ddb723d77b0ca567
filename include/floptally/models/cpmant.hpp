// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cpmant[] = R"page(
page cpmant : base.decoder prefix CpmAnt
with vocab_size 30720, hidden_size 4096, num_hidden_layers 48, num_attention_heads 32, dim_head 128, dim_ff 10240
with prompt_types 32, prompt_length 32, segment_types 32, position_bias_num_buckets 512, position_bias_max_distance any?
without intermediate_size
dim    = .dim_head
f      = .dim_ff
tied   = no                       # the words of the head are a part of the table's, kept apart
# Tokens of a prompt stand before every text. The class marks all of a text as seen: it is none that goes from left to right.
n      = .prompt_length
sees   = both
mixer: gqa heads heads, dim dim, prefix n
feed:  gated inner f, prefix n
once:
  table count (.prompt_types * n + .segment_types) * h
  positions count (.segment_types * .segment_types + .position_bias_num_buckets) * heads
classes ForCausalLM Model
)page";

}  // namespace floptally::models
