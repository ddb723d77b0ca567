// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma3n_vision[] = R"page(
# MobileNet-V5 (300M), which a file names and does not describe: timm has no other of that name. A grid is cells of 16 pixels,
# 48 x 48 of the images that the processor makes, where the third level stands; sides must be even.
page gemma3n_vision : base.tower prefix Gemma3n
with architecture "mobilenetv5_300m_enc", hidden_size 2048, vocab_size 128, vocab_offset any?, do_pooling any?, model_args object?
with num_classes any?, label_names any?, num_features any?
without num_hidden_layers, num_attention_heads, intermediate_size
layers = 84
rows   = 48
words  = .vocab_size
heads  = 1
norms  = 0
final_norm = 0
s      = i < 3 ? 0 : i < 8 ? 1 : i < 45 ? 2 : 3           # level
p      = i < 3 ? i : i < 8 ? i - 3 : i < 45 ? i - 8 : i - 45
w      = s == 0 ? 128 : s == 1 ? 256 : s == 2 ? 640 : 1280
came   = p > 0 ? w : s == 0 ? 64 : s == 1 ? 128 : s == 2 ? 256 : 640
attends_here = s == 2 and p > 8 and p % 2 == 1 or s == 3 and p % 2 == 1
inverts = s > 0 and not attends_here
# Cells of the level for each of the grid, and those before its first block, which halves both sides.
n      = s == 0 ? 16 : s == 1 ? 4 : 1
here   = s == 3 ? cells(1, 2) : null
n0     = p > 0 ? n : s == 3 ? 1 : 4*n
here0  = p > 0 ? here : null
wider  = p == 0 ? 6 : s == 1 or s == 2 and p < 8 ? 4 : s == 2 and p == 8 ? 1 : 2
f      = wider * came
kernel = s == 1 ? (p % 2 == 1 ? 5 : 3) : s == 2 and p < 8 or p == 0 ? 5 : 0      # of each channel by itself, before
q      = s == 2 ? 12 : 16
d      = s == 2 ? 64 : 96
seen   = cells(1, 2)
stem:  linear in 27, out 64, applied 64, stored 1, as stem conv_stem, input, no_lora, norm 64, bias 64
mixer:
  linear in 9*came, out 4*came, applied n, stored 1, as mlp conv_exp, no_lora, norm 4*came  if s == 0
  linear in 4*came, out w, applied n, stored 1, as mlp conv_pwl, no_lora, norm w  if s == 0
  linear in kernel*kernel, out came, applied n0, stored 1, as convolution dw_start, no_lora, norm came, over here0  if inverts and kernel > 0
  linear in came, out f, applied n0, stored 1, as mlp pw_exp, norm f, over here0  if inverts
  linear in 25, out f, applied n, stored 1, as convolution dw_mid, no_lora, norm f, over here  if inverts and p == 0
  linear in f, out w, applied n, stored 1, as mlp pw_proj, norm 2*w, over here  if inverts
  # One head of keys and values; in the third level of every second cell of both sides.
  linear in w, out q*d, as attention.qkv q_proj, from x, to q, norm 2*w, over here  if attends_here
  linear in 9, out w, applied 2, as convolution down_conv, no_lora, norm 2*w, over seen  if attends_here and s == 2
  linear in w, out d, as attention.qkv k_proj, from x, to k, over seen  if attends_here
  linear in w, out d, as attention.qkv v_proj, from x, to v, over seen  if attends_here
  core heads q, dim d, as attention.core, from q k v, to o, sees reduced(1, s == 2 ? 1 : 2, 1, 2)  if attends_here
  linear in q*d, out w, as attention.output o_proj, from o, to y, over here  if attends_here
feed:
# The last two levels side by side, as fine as the third; 16 x 16 of them are left, by a mean.
after:
  linear in 1920, out 3840, as fusion pw_exp, norm 3840
  linear in 3840, out .hidden_size, as fusion pw_proj, norm 2 * .hidden_size
class VisionModel:
require .architecture == "mobilenetv5_300m_enc": .architecture must be "mobilenetv5_300m_enc"
require size(.model_args) == 0: .model_args must be absent: they change the network
require .hidden_size == 2048: .hidden_size must be 2048, which the network leaves
note yes: an image is a grid of cells of 16 pixels, 48 x 48 as the processor makes it
)page";

}  // namespace floptally::models
