// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char stablelm[] = R"page(
page stablelm : llama prefix StableLm
with vocab_size 50304, hidden_size 2560, intermediate_size 6912, num_key_value_heads 32
with use_qkv_bias no, qk_layernorm no?, use_parallel_residual no
without attention_bias, mlp_bias
norms  = 2*h
beside = .use_parallel_residual
final_norm = 2*h
mtp_norms = norms + 6*h
bias   = .use_qkv_bias * (heads + 2*kv) * dim
feed:  gated inner f
more:
  norm count (heads + kv) * dim  if .qk_layernorm
  norm count 2*h  if not .use_parallel_residual     # side by side, attention and MLP share one
require heads * dim == h: .head_dim must be hidden_size / num_attention_heads ({h} / {heads})
classes ForCausalLM Model ForSequenceClassification ForTokenClassification
)page";

}  // namespace floptally::models
