// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lasr_ctc[] = R"page(
page lasr_ctc : parakeet_ctc prefix Lasr
with vocab_size 512
inner audio .encoder_config: lasr_encoder
)page";

}  // namespace floptally::models
