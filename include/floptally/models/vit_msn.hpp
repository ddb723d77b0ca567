// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vit_msn[] = R"page(
page vit_msn : vit prefix ViTMSN
without encoder_stride, pooler_output_size
class ForImageClassification: head out labels, bias, per_sequence
class Model:
)page";

}  // namespace floptally::models
