// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen3_asr_encoder[] = R"page(
page qwen3_asr_encoder : qwen3_omni_moe_audio_encoder prefix Qwen3ASR
with d_model 1024, encoder_layers 24, encoder_attention_heads 16, encoder_ffn_dim 4096, max_position_embeddings 13
out    = .output_dim
after:                                           # the two projections are those of qwen3_asr
class Encoder:
require .max_position_embeddings >= 13: .max_position_embeddings must be at least 13, the frames that are left of a chunk
)page";

}  // namespace floptally::models
