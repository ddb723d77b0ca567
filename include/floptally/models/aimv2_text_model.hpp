// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char aimv2_text_model[] = R"page(
page aimv2_text_model : base.decoder prefix Aimv2
with vocab_size 49408, hidden_size 768, intermediate_size 2048, num_hidden_layers 12, num_attention_heads 6
with max_position_embeddings 77, qkv_bias no, mlp_bias no
bias   = .qkv_bias * 4*h
divides = yes
positions = .max_position_embeddings
feed:  gated inner f, bias .mlp_bias * (2*f + h)
class TextModel:
)page";

}  // namespace floptally::models
