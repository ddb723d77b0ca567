// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char dpr[] = R"page(
page dpr : bert prefix DPR
with projection_dim 0 from 0
# The first token stands for the text: no pooler, a projection where there is one.
class ContextEncoder: head out .projection_dim, bias, per_sequence  if .projection_dim > 0
class QuestionEncoder: head out .projection_dim, bias, per_sequence  if .projection_dim > 0
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
