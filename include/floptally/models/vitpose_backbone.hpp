// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vitpose_backbone[] = R"page(
page vitpose_backbone : vit prefix VitPose
with image_size [256, 192] of numbers, patch_size [16, 16] of numbers, mlp_ratio 4, num_experts 1, part_features any?
with out_features any?, out_indices any?
without intermediate_size, encoder_stride, pooler_output_size
f      = .mlp_ratio * h
class_tokens = 0
learned = 1                                     # a position that all patches add
class Backbone:
require .num_experts == 1: .num_experts is not supported; must be 1: which expert runs is said by a sample's data set
)page";

}  // namespace floptally::models
