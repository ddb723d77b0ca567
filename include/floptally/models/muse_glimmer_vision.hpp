// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char muse_glimmer_vision[] = R"page(
page muse_glimmer_vision : base.tower prefix MuseGlimmer
with hidden_size 1536, intermediate_size 8960, num_hidden_layers 50, num_attention_heads 16, patch_size 14, patch_temporal 2
with merge_size 2, pos_emb_height 32, pos_emb_width 32, max_position_embeddings any?
with layer_types list? each of full_attention window_attention
bias   = 4*h
side   = .merge_size
first_norm = 2*h
whole  = given(.layer_types) ? .layer_types[i] == "full_attention" : (i + 1) % 4 == 0 or i == layers - 1
sees   = whole ? both : grid(.pos_emb_height)
stem:
  patches channels 3, side .patch_size, frames .patch_temporal
  positions count .pos_emb_height * .pos_emb_width * h
class VisionModel:
)page";

}  // namespace floptally::models
