// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char convnextv2[] = R"page(
page convnextv2 : convnext prefix ConvNextV2
without layer_scale_init_value
feed:  mlp inner 4*w, width w, norm 2*w + 2 * 4*w, bias 5*w, over merged        # a norm of responses inside
)page";

}  // namespace floptally::models
