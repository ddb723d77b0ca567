// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char falcon_mamba[] = R"page(
page falcon_mamba : mamba prefix FalconMamba
classes ForCausalLM Model
)page";

}  // namespace floptally::models
