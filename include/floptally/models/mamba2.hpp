// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mamba2[] = R"page(
page mamba2 : base.decoder prefix Mamba2
with vocab_size 32768, hidden_size 4096, num_hidden_layers 64, num_attention_heads 1
with expand 2, state_size 128, conv_kernel 4, num_heads 128, head_dim 64, n_groups 8, use_bias no, use_conv_bias yes, chunk_size any?
with layer_types null, layers_block_type null, layers_num_experts null
without intermediate_size
inner  = .expand * h
p      = .num_heads
g      = .n_groups
s      = .state_size
conv   = inner + 2*g*s                             # channels of the convolution: x, B and C
norms  = h
# A, D and the bias of dt for each head.
mixer:
  mamba2 heads p, dim .head_dim, groups g, state s, kernel .conv_kernel, norm inner,
         bias 3*p + .use_conv_bias * conv + .use_bias * (inner + conv + p + h)
feed:
require inner % p == 0: .num_heads must divide the {inner} channels
require .head_dim == inner / p: .head_dim must be {inner / p}, the width of one of {p} heads of {inner} channels
require p % g == 0: .n_groups must divide the {p} heads
classes ForCausalLM Model
)page";

}  // namespace floptally::models
