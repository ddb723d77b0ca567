// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm_moe_dsa[] = R"page(
page glm_moe_dsa : deepseek_v32 prefix GlmMoeDsa
with vocab_size 154880, hidden_size 6144, intermediate_size 12288, num_hidden_layers 78, num_attention_heads 64
with q_lora_rank 2048, qk_nope_head_dim 192, v_head_dim 256, index_n_heads 32
with indexer_types list? of full shared, index_topk_pattern text or list?
with index_topk_freq 1 from 0 to 10000, index_skip_topk_offset 2 from 0 to 10000
# Which layers have an indexer; the others take the keys that the layer before them has chosen.
types   = .indexer_types ?? .index_topk_pattern
steps   = max(i + 1 - .index_skip_topk_offset, 0)
chooses = given(types) ? types[i] == "full" or types[i] == "F" : .index_topk_freq < 2 or steps % .index_topk_freq == 0
mixer:
  mla heads heads, q q, c c, nope .qk_nope_head_dim, rope rope, dim dim, norm q + c, bias bias
  indexer heads .index_n_heads, dim .index_head_dim, q q, norm 2*.index_head_dim  if chooses
require not given(.indexer_types) or size(types) >= layers: .indexer_types must name the {layers} layers
require not given(types) or size(types) >= layers: .index_topk_pattern must name the {layers} layers
require chooses or types[i] == "shared" or types[i] == "S" or not given(types): .index_topk_pattern must be letters F and S
require chooses or i > 0 or not given(.indexer_types): .indexer_types must give the first layer an indexer
require chooses or i > 0 or not given(types): .index_topk_pattern must give the first layer an indexer
require chooses or i > 0: .index_skip_topk_offset must give the first layer an indexer
)page";

}  // namespace floptally::models
