// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char openai_privacy_filter[] = R"page(
page openai_privacy_filter : gpt_oss prefix OpenAIPrivacyFilter
with vocab_size 200064, hidden_size 640, intermediate_size 640, num_hidden_layers 8, num_attention_heads 14
with num_key_value_heads 2, sliding_window 128
without layer_types
sees   = around(.sliding_window, .sliding_window)
labels = .num_labels ?? (given(.id2label) ? size(.id2label) : 33)        # of its class: eight kinds in four places, and none
class ForTokenClassification: head out labels, bias
class Model:
)page";

}  // namespace floptally::models
