// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mvp[] = R"page(
page mvp : bart prefix Mvp
encoder mvp.encoder
with vocab_size 50267
with use_prompt no?, prompt_length any?, prompt_mid_dim any?
usual  = 2
# Its prompts would be keys and values without tokens.
require not .use_prompt: .use_prompt is not supported; must be false or absent
classes ForConditionalGeneration Model
class ForCausalLM: as mvp.decoder
classes ForSequenceClassification ForQuestionAnswering

page mvp.encoder : bart.encoder prefix Mvp
with vocab_size 50267

page mvp.decoder : mvp as bart.decoder
)page";

}  // namespace floptally::models
