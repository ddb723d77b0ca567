// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char exaone4_5_vision[] = R"page(
page exaone4_5_vision : qwen2_5_vl_vision prefix Exaone4_5_
with num_key_value_heads 8
kv     = .num_key_value_heads
bias   = (heads + 2*kv) * dim + h
mixer: gqa heads heads, kv kv, dim dim, bias bias, fused
class VisionModel:
)page";

}  // namespace floptally::models
