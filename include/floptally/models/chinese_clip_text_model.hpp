// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char chinese_clip_text_model[] = R"page(
page chinese_clip_text_model : bert prefix ChineseCLIP
with projection_dim any?
without is_decoder, embedding_size
class TextModel: head out h, bias, per_sequence, detached
class TextModelWithoutPooler:     # as chinese_clip has it
)page";

}  // namespace floptally::models
