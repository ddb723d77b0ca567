// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char wavlm[] = R"page(
page wavlm : wav2vec2 prefix WavLM
with num_buckets 320, num_ctc_classes any?
# Scores are moved by a bias of relative positions, which eight numbers a head gate.
mixer:
  gqa heads heads, dim dim, bias bias
  linear in dim, out 8, applied heads, stored 1, as attention.gate, from x, no_lora, bias 8 + heads, split heads heads
  positions count .num_buckets * heads  if i == 0
)page";

}  // namespace floptally::models
