// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char dinov2[] = R"page(
page dinov2 : vit prefix Dinov2
with patch_size 14 or list, mlp_ratio 4.0 to 1024, use_swiglu_ffn no, use_mask_token yes
with apply_layernorm any?, reshape_hidden_states any?         # of a class that hands out features of layers
without intermediate_size, encoder_stride, pooler_output_size
f      = floor(.mlp_ratio * h)
gated  = ceil(2*f / 3, 8) * 8                  # two thirds of the width, up to a multiple of 8
more:  norm count 2*h            # a factor per channel on what each half adds
learned = 2 + .use_mask_token
feed:
  gated inner gated, bias 2*gated + h  if .use_swiglu_ffn
  mlp inner f, bias f + h              if not .use_swiglu_ffn
# The classifier reads the class token beside the mean of the patches.
class ForImageClassification: head in 2*h, out labels, bias, per_sequence
class Model:
)page";

}  // namespace floptally::models
