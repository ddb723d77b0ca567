// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char dinov2_with_registers[] = R"page(
page dinov2_with_registers : dinov2 prefix Dinov2WithRegisters
with patch_size 16 or list, num_register_tokens 4 from 0
without use_mask_token
class_tokens = 1 + .num_register_tokens
learned = 3 + .num_register_tokens
)page";

}  // namespace floptally::models
