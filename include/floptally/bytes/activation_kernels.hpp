// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The kernels of a model, as far as they decide what a forward keeps.

namespace floptally {

/// The kernels of a model, as far as they decide what a forward keeps.
struct activation_kernels {
    bool flash_attention = true;     ///< else the probabilities of all pairs of a sequence are kept
    bool fused_elementwise = true;   ///< else norms keep what they scaled, and a gate its activation, besides
    bool hidden_dropout = false;     ///< a mask of a byte for each element that a layer's part adds to the stream
    bool attention_dropout = false;  ///< of probabilities that are kept: a mask, and what it left
};

}  // namespace floptally
