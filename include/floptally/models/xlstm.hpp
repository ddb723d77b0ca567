// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char xlstm[] = R"page(
page xlstm : base.decoder prefix xLSTM
with vocab_size 50304, hidden_size 4096, num_hidden_layers 32, num_heads 8, embedding_dim number?, num_blocks number? to 10000
with qk_dim_factor 0.5 to 1024, v_dim_factor 1.0 to 1024, ffn_proj_factor 2.667 to 1024, ffn_round_up_to_multiple_of 64, use_bias no, chunk_size any?
without intermediate_size, num_attention_heads
layers = .num_blocks ?? .num_hidden_layers
heads  = .num_attention_heads // .num_heads
keys   = floor(.qk_dim_factor * h)
values = floor(.v_dim_factor * h)
least  = floor(.ffn_proj_factor * h + .ffn_round_up_to_multiple_of - 1)
f      = least - least % .ffn_round_up_to_multiple_of
gates  = 2*heads                                   # biases of the input and the forget gate
mixer:
  mlstm heads heads, key_dim keys / heads, value_dim values / heads,
        norm values + .use_bias * (values + 2*h), bias gates + .use_bias * (2*keys + 2*values + h)
feed:  gated inner f, bias .use_bias * (2*f + h)
require (.embedding_dim ?? h) == h: .embedding_dim must be hidden_size ({h}) or absent
require keys > 0 and keys % heads == 0: .qk_dim_factor must give a multiple of num_heads ({heads}), gives {keys}
require values > 0 and values % heads == 0: .v_dim_factor must give a multiple of num_heads ({heads}), gives {values}
require .tie_word_embeddings == no: .tie_word_embeddings is not supported; must be false or absent
classes ForCausalLM Model
)page";

}  // namespace floptally::models
