// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char glpn[] = R"page(
page glpn : segformer prefix GLPN
with decoder_hidden_size 64, head_in_index any?
without reshape_last_stage
class Model:
)page";

}  // namespace floptally::models
