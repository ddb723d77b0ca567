// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char hyperclovax[] = R"page(
page hyperclovax : llama prefix HyperCLOVAX
with use_post_norm yes
more:  norm count 2*h  if .use_post_norm
classes ForCausalLM Model
)page";

}  // namespace floptally::models
