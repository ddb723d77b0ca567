// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char squeezebert[] = R"page(
page squeezebert : bert.pooled prefix SqueezeBert
with embedding_size 768, q_groups 4, k_groups 4, v_groups 4, post_attention_groups 1, intermediate_groups 4, output_groups 4
# Linears in groups: each takes its own part of the channels.
mixer:
  linear in h / .q_groups, out h, as attention.qkv, split heads heads
  linear in h / .k_groups, out h, as attention.qkv, split heads heads
  linear in h / .v_groups, out h, as attention.qkv, split heads heads
  core heads heads, dim dim
  linear in h / .post_attention_groups, out h, as attention.output, bias 4*h, split heads heads
feed:
  linear in h / .intermediate_groups, out f, as mlp, split even
  linear in f / .output_groups, out h, as mlp, bias f + h, split even
require h % .q_groups == 0: .q_groups must divide hidden_size ({h})
require h % .k_groups == 0: .k_groups must divide hidden_size ({h})
require h % .v_groups == 0: .v_groups must divide hidden_size ({h})
require h % .post_attention_groups == 0: .post_attention_groups must divide hidden_size ({h})
require h % .intermediate_groups == 0 and f % .intermediate_groups == 0: .intermediate_groups must divide hidden_size and intermediate_size
require f % .output_groups == 0 and h % .output_groups == 0: .output_groups must divide hidden_size and intermediate_size
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
