// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace floptally {

/// Which passes are counted.
enum class phases : std::uint8_t { train, forward, backward };

/// What the backward pass computes again.
enum class recompute : std::uint8_t {
    none,
    full,      ///< one more forward of every layer; what stands after the last layer is kept
    attention  ///< one more forward of the attention core
};

/// What one process executes in a training step.
struct training_plan {
    phases counted = phases::train;
    floptally::recompute recomputed = recompute::none;
    /// The backward of a fused attention kernel computes QKᵀ once more. That product is executed, never useful.
    bool flash_attention = true;
};

}  // namespace floptally
