// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mbart[] = R"page(
page mbart : bart prefix MBart
encoder mbart.encoder
final_norm = 2*h
usual  = 2
classes ForConditionalGeneration Model
class ForCausalLM: as mbart.decoder
class ForCausalLMOfImages: as mbart.of_images
classes ForSequenceClassification ForQuestionAnswering

page mbart.encoder : bart.encoder prefix MBart
final_norm = 2*h

page mbart.decoder : mbart as bart.decoder

page mbart.of_images : mbart.decoder as bart.of_images
)page";

}  // namespace floptally::models
