// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char gemma4_unified_audio[] = R"page(
# Pieces of the waveform, each of which is a token: nothing before the projector. A frame is such a piece.
page gemma4_unified_audio : base.tower prefix Gemma4Unified
with audio_embed_dim 640
without hidden_size, intermediate_size, num_hidden_layers, num_attention_heads
stands = "audio"
h      = .hidden_size // .audio_embed_dim
f      = h
layers = 1                                        # that multiplies nothing
heads  = 1
norms  = 0
mixer:
feed:
final_norm = 0
tokens_for = frames(1, 1)
stem:  norm count 0
class AudioEmbedder:
)page";

}  // namespace floptally::models
