// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char step3p7[] = R"page(
# A page and tiles of it, each a grid; three convolutions of strides 14, 2 and 2 between pixels and tokens.
page step3p7 : base.composite prefix Step3p7
with projector_bias no
inner text .text_config: step3p7.text, always
inner vision .vision_config: step3p7.vision, always
tied   = .tie_word_embeddings
vision_units = cells(1, 4)
vision_projector: linear in 4 * vision.h, out text.h, as projector, from x, to y, units cells(1, 4), bias .projector_bias * text.h
class ForConditionalGeneration: text ForCausalLM
class Model: text TextModel

page step3p7.text : laguna prefix Step3p7
with vocab_size 128815, hidden_size 4096, intermediate_size 11264, num_hidden_layers 45, num_attention_heads 64, num_key_value_heads 8
with head_dim 128, num_sliding_attention_heads number?, attention_other_setting object?, attention_other_setting.num_attention_heads number absent
with layer_types list?, mlp_layer_types list?, sliding_window number?, moe_layers_enum text or list?
with n_routed_experts 288, moe_intermediate_size 1280, share_expert_dim 1280, num_nextn_predict_layers 0 from 0
with swiglu_limits any?, swiglu_limits_shared any?, mtp_layer_types any?, mtp_mlp_layer_types any?, per_layer_config any?
with partial_rotary_factors any?
without num_attention_heads_per_layer, gating, num_experts, shared_expert_intermediate_size
slides  = given(.layer_types) ? .layer_types[i] == "sliding_attention" : no
heads   = slides ? .num_sliding_attention_heads // .attention_other_setting.num_attention_heads // .num_attention_heads : .num_attention_heads
kv      = .num_attention_groups // .num_key_value_heads
sees    = slides ? window(.sliding_window) : causal
gate    = heads
honours_per_layer_config = yes    # resolved files say the heads of windows so again
note size(.per_layer_config) > 0: per_layer_config is taken to repeat num_sliding_attention_heads for layers with a window
no_mtp  = "whose prediction layers have kinds of their own"
experts = .moe_num_experts // .num_local_experts // .n_routed_experts
top     = .moe_top_k // .num_experts_per_tok
shared  = .share_expert_dims // .share_expert_dim
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : is_list(.moe_layers_enum) ? .moe_layers_enum has i : i >= 3
feed:
  experts of experts, top top, inner .moe_intermediate_size, shared shared  if sparse
  gated inner f                                                                               if not sparse
class ForCausalLM: head out v, words
class TextModel:
require not is_text(.moe_layers_enum) or .moe_layers_enum begins "3," and times(.moe_layers_enum, ",") == layers - 4: .moe_layers_enum must be a list, or name all layers from the fourth on

page step3p7.vision : base.tower prefix Step3p7
with hidden_size 1536, num_hidden_layers 47, num_attention_heads 16, image_size 728, patch_size 14, num_channels 3, mlp_ratio 5.833333333333333
without intermediate_size
h      = .width // .hidden_size
layers = .layers // .num_hidden_layers
heads  = .heads // .num_attention_heads
f      = floor(h * .mlp_ratio)
bias   = 4*h
first_norm = 2*h
final_norm = 0
rows   = .image_size / .patch_size
more:  norm count 2*h             # two vectors that scale what is added
stem:
  patches channels .num_channels, side .patch_size
  positions count rows*rows * h
after:
  linear in 9*h, out 2*h,   as merger downsampler1, from x, to a, no_lora, units cells(1, 2), bias 2*h
  linear in 18*h, out 4*h,  as merger downsampler2, from a, to b, no_lora, units cells(1, 4), bias 4*h
class VisionModel:
)page";

}  // namespace floptally::models
