// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gpt_oss[] = R"page(
page gpt_oss : llama prefix GptOss
with vocab_size 201088, hidden_size 2880, intermediate_size 2880, num_hidden_layers 36, num_attention_heads 64
with num_key_value_heads 8, head_dim 64, attention_bias yes, num_local_experts 128, num_experts_per_tok 4
with sliding_window 128?, layer_types list? each of full_attention attention sliding_attention
without mlp_bias
divides = no
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : i % 2 == 0
sees   = slides ? window(.sliding_window) : causal
sinks  = heads                    # what each head may attend to besides tokens
bias   = (.attention_bias ? (heads + 2*kv) * dim + h : 0) + sinks
experts = .num_experts // .num_local_experts
feed:  experts of experts, top .num_experts_per_tok, inner f, bias experts, expert_bias 2*f + h
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
