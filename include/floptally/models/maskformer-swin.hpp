// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char maskformer_swin[] = R"page(
page maskformer-swin : swin prefix MaskFormerSwin
with out_features any?, out_indices any?
classes Model
)page";

}  // namespace floptally::models
