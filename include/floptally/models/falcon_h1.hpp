// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char falcon_h1[] = R"page(
page falcon_h1 : bamba prefix FalconH1
with mamba_d_ssm 1024?, projectors_bias no, mamba_rms_norm no
without attn_layer_indices
full   = yes
inner  = .mamba_d_ssm ?? .mamba_expand * h
mixer: gqa heads heads, kv kv, dim dim, bias bias
# Beside the attention.
more:
  mamba2 heads p, dim d, groups g, state s, kernel .mamba_d_conv, norm .mamba_rms_norm * inner,
         bias 3*p + .mamba_conv_bias * conv + .mamba_proj_bias * (inner + conv + p) + .projectors_bias * h
)page";

}  // namespace floptally::models
