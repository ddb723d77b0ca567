// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char siglip_text_model[] = R"page(
page siglip_text_model : clip_text_model prefix Siglip
with vocab_size 32000, hidden_size 768, intermediate_size 3072, num_attention_heads 12, max_position_embeddings 64
with projection_size number?
sees   = both
class TextModel: head out .projection_size ?? h, bias, per_sequence, detached
)page";

}  // namespace floptally::models
