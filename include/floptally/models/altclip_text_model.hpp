// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char altclip_text_model[] = R"page(
page altclip_text_model : bert prefix AltCLIP
with vocab_size 250002, hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16
with max_position_embeddings 514, type_vocab_size 1, project_dim 768, projection_dim any?
without is_decoder, embedding_size
made   = .project_dim
# Every token is projected, of which altclip takes the first.
class TextModel:
  norm count 2*h
  head out made, bias
)page";

}  // namespace floptally::models
