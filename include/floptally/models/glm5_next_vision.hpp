// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glm5_next_vision[] = R"page(
page glm5_next_vision : glm_ocr_vision prefix Glm5Next
with patch_size 14, projection_intermediate_size 10240, image_size any?
after: gated_merger side side, inner .projection_intermediate_size, out out, norm 2*out, bias out
)page";

}  // namespace floptally::models
