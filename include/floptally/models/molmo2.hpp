// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char molmo2[] = R"page(
# A tower over crops of an image or over frames, each a frame of a grid; words of the text pool some patches of it each,
# which the processor chooses.
page molmo2 : base.composite prefix Molmo2
with tie_word_embeddings any?, vit_config object?, image_patch_id any?
with adapter_config.vision_feature_layer list?, adapter_config.hidden_size 1152, adapter_config.num_attention_heads 16
with adapter_config.num_key_value_heads 16, adapter_config.head_dim 72, adapter_config.attention_bias yes
with adapter_config.intermediate_size 18944, adapter_config.text_hidden_size 3584, adapter_config.mlp_bias no
inner text .text_config: molmo2_text, always
inner vision .vision_config: molmo2.vision, always
tied   = no
read   = .adapter_config.vision_feature_layer ?? [24, 18]
first  = (read[0] + vision.layers) % vision.layers
other  = size(read) > 1 ? (read[1] + vision.layers) % vision.layers : first
vision_layers = max(first, other) + 1             # that reach the loss
h      = .adapter_config.hidden_size
heads  = .adapter_config.num_attention_heads
kv     = .adapter_config.num_key_value_heads
dim    = .adapter_config.head_dim
f      = .adapter_config.intermediate_size
bias   = .adapter_config.attention_bias
inside = size(read) * vision.h                    # the layers' patches side by side
words  = measured("pooled_tokens")
pooled = measured("pooled_patches")               # slots of all words, empty ones too
vision_projector:
  linear in inside, out heads*dim, as queries.qkv q_proj, from x, to a, over words, split heads heads, bias bias*heads*dim
  linear in inside, out kv*dim, as queries.qkv k_proj, from x, to b, over pooled, split kv_heads kv, bias bias*kv*dim
  linear in inside, out kv*dim, as queries.qkv v_proj, from x, to c, over pooled, split kv_heads kv, bias bias*kv*dim
  core heads heads, dim dim, as queries.core, from a b c, to d, pairs 1, over pooled
  linear in heads*dim, out h, as queries.output o_proj, from d, to y, over words, split heads heads, bias bias*h
  linear in h, out f, as projector gate_proj, from y, to up, over words, split columns, bias .adapter_config.mlp_bias*f
  linear in h, out f, as projector up_proj, from y, to up, over words, split columns, bias .adapter_config.mlp_bias*f
  linear in f, out text.h, as projector down_proj, from up, to z, over words, split rows
# Words of all images of a text see each other.
vision_in_text: core heads text.heads, dim text.dim, pairs 1, over measured("later_pairs")
class ForConditionalGeneration: text ForConditionalGeneration
class Model: text TextModel
require not given(.vit_config): .vit_config is the name of older files; must be vision_config, of the layers that the weights have
require size(read) < 3: .adapter_config.vision_feature_layer must list one or two layers
require h == vision.h: .adapter_config.hidden_size must be the tower's ({vision.h})
require .adapter_config.text_hidden_size == text.h: .adapter_config.text_hidden_size must be the text's hidden_size ({text.h})
note yes: the processor says what the words of images pool: add_measured("pooled_tokens", …) their number, "pooled_patches" their slots, "later_pairs" n(n - 1)/2 of the n of each text

page molmo2.vision : base.tower prefix Molmo2
with hidden_size 1152, intermediate_size 4304, num_hidden_layers 25, num_attention_heads 16, num_key_value_heads 16
with head_dim 72, image_size list?, patch_size 14, num_position_embeddings number?, num_channels 3, attention_bias yes
kv     = .num_key_value_heads
dim    = .head_dim
rows   = (given(.image_size) ? .image_size[0] : 378) / .patch_size
columns = (given(.image_size) ? .image_size[1] : 378) / .patch_size
bias   = .attention_bias ? (heads + 2*kv) * dim + h : 0
divides = no
final_norm = 0
stem:
  patches channels .num_channels, side .patch_size, bias h
  positions count (.num_position_embeddings ?? rows*columns) * h
class VisionModel:
)page";

}  // namespace floptally::models
