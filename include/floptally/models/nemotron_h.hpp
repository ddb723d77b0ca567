// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char nemotron_h[] = R"page(
page nemotron_h : base.decoder prefix NemotronH
with vocab_size 131072, hidden_size 4096, intermediate_size 21504, num_attention_heads 32, num_key_value_heads 8, head_dim 128
with mlp_bias no, use_bias no, hybrid_override_pattern "ME*-"?
with layer_types list? of linear_attention mamba full_attention attention mlp moe
with layers_block_type list? of linear_attention mamba full_attention attention mlp moe
with n_routed_experts 8, num_experts_per_tok 2, moe_intermediate_size 7688, moe_shared_expert_intermediate_size 7688
with moe_latent_size number?, ssm_state_size 128, conv_kernel 4, mamba_num_heads 128, mamba_head_dim 64, n_groups 8
with use_conv_bias yes, num_nextn_predict_layers 0? from 0
with num_hidden_layers number absent, chunk_size any?
list   = .layers_block_type // .layer_types
layers = given(list) ? size(list) : size(.hybrid_override_pattern)
kind   = given(list) ? list[i] : .hybrid_override_pattern[i]
mamba  = kind == "M" or kind == "mamba" or kind == "linear_attention"
full   = kind == "*" or kind == "attention" or kind == "full_attention"
mlp    = kind == "-" or kind == "mlp"
moe    = kind == "E" or kind == "moe"
kv     = .num_key_value_heads
dim    = .head_dim
p      = .mamba_num_heads
inner  = p * .mamba_head_dim
g      = .mamba_n_groups // .n_groups
s      = .ssm_state_size
conv   = inner + 2*g*s
l      = .moe_latent_size ?? 0
shared = .moe_shared_expert_intermediate_size
norms  = h
mtp    = .num_nextn_predict_layers
no_mtp = "whose prediction layers have a pattern of their own"
mixer:
  mamba2 heads p, dim .mamba_head_dim, groups g, state s, kernel .mamba_d_conv // .conv_kernel, norm inner,
         bias 3*p + .mamba_conv_bias // .use_conv_bias * conv + .use_bias * (inner + conv + p + h)  if mamba
  gqa heads heads, kv kv, dim dim  if full
feed:
  mlp inner f, bias .mlp_bias * (f + h)  if mlp
  experts of .num_local_experts // .n_routed_experts, top .num_experts_per_tok, inner .moe_intermediate_size,
          shared shared, latent l, plain, bias .mlp_bias * (shared + h + (l == 0 ? 0 : l + h))  if moe
require layers > 0: .hybrid_override_pattern must have from 1 to 10000 layers
require mamba or full or mlp or moe: .hybrid_override_pattern must be of the letters M, *, - and E
require p % g == 0: .n_groups must divide the {p} heads of mamba_num_heads
require .tie_word_embeddings == no: .tie_word_embeddings is not supported; must be false or absent
classes ForCausalLM Model
)page";

}  // namespace floptally::models
