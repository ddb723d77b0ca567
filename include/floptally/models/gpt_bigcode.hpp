// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gpt_bigcode[] = R"page(
page gpt_bigcode : gpt2 prefix GPTBigCode
with multi_query yes, num_key_value_heads any?         # the latter follows from the former
without summary_type, summary_use_proj, summary_proj_to_labels
kv     = .multi_query ? 1 : heads
bias   = (heads + 2*kv) * dim + h
class ForCausalLM: head out v, words
class Model:
class ForSequenceClassification: head out labels
class ForTokenClassification: head out labels, bias
)page";

}  // namespace floptally::models
