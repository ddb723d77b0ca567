// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/component_name.hpp>
#include <floptally/detail/bounded_vector.hpp>

namespace floptally {

/// Which passes are counted.
enum class phases : std::uint8_t { train, forward, backward };

/// What the backward pass computes again.
enum class recompute : std::uint8_t {
    none,
    full,      ///< one more forward of every layer; what stands after the last layer is kept
    attention  ///< one more forward of the attention core
};

inline constexpr std::size_t max_recomputed_components = 8;

/// What one process executes in a training step.
struct training_plan {
    phases counted = phases::train;
    floptally::recompute recomputed = recompute::none;
    /// The backward of a fused attention kernel computes QKᵀ once more. That product is executed, never useful.
    bool flash_attention = true;
    /// Components that the backward computes again besides, by name: Megatron's `recompute_modules`.
    detail::bounded_vector<component_name, max_recomputed_components> recomputed_components{};
};

}  // namespace floptally
