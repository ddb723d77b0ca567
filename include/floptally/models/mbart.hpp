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

page mbart.decoder : mbart
encoder none
lone   = yes
cross: linear in h, out heads*dim, applied 0, stored 4, as cross_attention, bias bias
once:
class ForCausalLM: head out v, words

page mbart.of_images : mbart.decoder
cross: cross heads heads, dim dim, bias bias
class ForCausalLMOfImages: head out v, words
)page";

}  // namespace floptally::models
