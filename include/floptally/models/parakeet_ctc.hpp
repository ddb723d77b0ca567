// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char parakeet_ctc[] = R"page(
# An encoder, and a head of each of its frames.
page parakeet_ctc prefix Parakeet
with vocab_size 1025
inner audio .encoder_config: parakeet_encoder
class ForCTC:
  text none
  linear in audio.h, out .vocab_size, as projector ctc_head, from x, head, over audio.units, attends audio.attends,
         bias .vocab_size, split replicated
)page";

}  // namespace floptally::models
