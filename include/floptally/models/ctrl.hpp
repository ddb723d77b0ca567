// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ctrl[] = R"page(
page ctrl : gpt2 prefix CTRL
with vocab_size 246534, n_embd 1280, n_layer 48, n_head 16, dff 8192
without n_inner, n_positions, summary_type, summary_use_proj, summary_proj_to_labels
f      = .dff
positions = 0
fused_qkv = no
class LMHeadModel: head out v, bias, words
class Model:
class ForSequenceClassification: head out labels
)page";

}  // namespace floptally::models
