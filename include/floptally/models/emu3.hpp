// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char emu3[] = R"page(
# A text whose words are images too: an autoencoder makes their tokens.
page emu3 : base.composite prefix Emu3
with vq_config any?, vocabulary_map any?
inner text .text_config: emu3_text_model, always
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel
note yes: an image is tokens of the text: neither the autoencoder that makes them (vq_config) nor its parameters are counted
)page";

}  // namespace floptally::models
