// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char deit[] = R"page(
page deit : vit prefix DeiT
class_tokens = 2
learned = 4                                    # the class token, the distillation token, and their positions
classes ForImageClassification Model ForMaskedImageModeling
class ForImageClassificationWithTeacher:
  head out labels, bias, per_sequence
  head out labels, bias, per_sequence
)page";

}  // namespace floptally::models
