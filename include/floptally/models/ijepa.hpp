// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ijepa[] = R"page(
page ijepa : vit_msn prefix IJepa
class_tokens = null
learned = 0
class ForImageClassification: head out labels, bias, per_sequence
class Model:
)page";

}  // namespace floptally::models
