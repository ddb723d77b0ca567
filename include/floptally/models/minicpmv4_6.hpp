// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char minicpmv4_6[] = R"page(
page minicpmv4_6 : base.composite prefix MiniCPMV4_6
with insert_layer_id 6 from 0, downsample_mode "16x", merge_kernel_size list?, merger_times 1
with image_size any?, patch_size any?, drop_vision_last_layer any?      # of the processor
inner text .text_config: qwen3_5_text
inner vision .vision_config: minicpmv4_6_vision, always
tied   = .tie_word_embeddings
mode   = "16x"
total  = 4                        # a side of the square of patches that becomes a token
inside = 4 * vision.h
window = .merge_kernel_size ?? [2, 2]
vision_units = merged(total)
vision_projector:
  linear in inside, out inside, as projector linear_1, from x, to up, units merged(total), norm 2*inside, bias inside, split columns
  linear in inside, out text.h, as projector linear_2, from up, to out, units merged(total), bias text.h, split rows
require .insert_layer_id == vision.merged_behind: .insert_layer_id must be that of vision_config ({vision.merged_behind})
require .downsample_mode == mode: .downsample_mode must be "{mode}" here: the other mode runs another tower
require size(window) == 2 and window[0] == 2 and window[1] == 2: .merge_kernel_size must be [2, 2]
require .merger_times == 1: .merger_times must be 1
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
)page";

}  // namespace floptally::models
