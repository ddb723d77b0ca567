// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char shieldgemma2[] = R"page(
page shieldgemma2 : gemma3 prefix ShieldGemma2
with tie_word_embeddings no
tied   = .tie_word_embeddings or text.tied
# The logits of two words at the end, for which the whole head runs.
class ForImageClassification: text ForCausalLM
)page";

}  // namespace floptally::models
