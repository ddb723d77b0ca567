// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char kimi_vl[] = R"page(
page kimi_vl : base.composite prefix KimiVL
inner text .text_config: deepseek_v3
inner vision .vision_config: kimi_vl.vision, always
tied   = text.tied
w      = vision.h
side   = vision.side
vision_projector: merger side side, out text.h, width w, norm 2*w, bias side*side*w + text.h
class ForConditionalGeneration: text ForCausalLM

# MoonViT (arXiv:2504.07491, section 2.1): images, each for itself.
page kimi_vl.vision : kimi_k25_vision prefix MoonVit
with init_pos_emb_height 64, init_pos_emb_width 64
without pos_emb_height, pos_emb_width
sees   = both
tokens_for = merged(side)
mixer: gqa heads heads, dim dim, bias bias, fused
stem:
  patches channels 3, side .patch_size, bias h
  positions count .init_pos_emb_height * .init_pos_emb_width * h
)page";

}  // namespace floptally::models
