// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char pixio[] = R"page(
page pixio : dinov2 prefix Pixio
with hidden_size 1280, num_hidden_layers 32, num_attention_heads 16, image_size 256 or list, patch_size 16 or list
with n_cls_tokens 8
without use_swiglu_ffn, use_mask_token
class_tokens = .n_cls_tokens
learned = 2 * .n_cls_tokens                               # class tokens, and their positions
feed:  mlp inner f, bias f + h
more:
class Model:
)page";

}  // namespace floptally::models
