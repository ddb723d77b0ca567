// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mistral_large4[] = R"page(
page mistral_large4 : mistral3 prefix MistralLarge4
with tie_word_embeddings no
inner text .text_config: mistral_large4_text, absent mistral_large4_text
inner vision .vision_config: pixtral, absent mistral_large4.pixtral
tied   = .tie_word_embeddings
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel

page mistral_large4.pixtral : mistral3.pixtral
with hidden_size 2048, intermediate_size 6144, num_hidden_layers 30
)page";

}  // namespace floptally::models
