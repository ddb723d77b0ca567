// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm_ocr_vision[] = R"page(
page glm_ocr_vision : glm4v_vision prefix GlmOcr
with hidden_size 1024, intermediate_size 4096, num_heads 16, out_hidden_size 1536, attention_bias yes
without image_size
first_norm = 0
bias   = .attention_bias * 4*h
stem:  patches channels .in_channels, side .patch_size, frames .temporal_patch_size, bias h
mixer: gqa heads heads, dim dim, norm 2*dim, bias bias, fused
feed:  gated inner f, bias .attention_bias * (2*f + h)
after: gated_merger side side, inner out * .in_channels, out out, norm 2*out, bias out
)page";

}  // namespace floptally::models
