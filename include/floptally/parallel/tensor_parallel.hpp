// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/sharding.hpp>

/// @file
/// Options of tensor parallelism that cannot be derived from a model's cost.

namespace floptally::inline v0_3 {

/// A split of the matrices of a component, or of one weight in it. It replaces the split that the model declares.
/// `weights` is a pattern as in `weight_setting::weights`. A component "encoder.mlp" can also be named "mlp".
struct weight_split {
    component_name weights;
    sharding_kind split = sharding_kind::even;
};

/// How ranks compute keys and values if there are fewer key and value heads than ranks.
enum class few_kv_heads : std::uint8_t {
    replicated,  ///< each rank computes the head that it needs, so k and v are computed tp / heads times
    gathered     ///< each rank computes a part of a head, and the parts are gathered, so nothing is computed twice
};

/// Options of the split of layers over tensor-parallel ranks. Defaults are those of Megatron-Core.
struct tensor_options {
    bool sequence_parallel = false;  ///< true: weights that every rank stores whole are applied to 1 / tp of the tokens
                                     ///< on each rank
    few_kv_heads kv = few_kv_heads::replicated;
    /// The vocabulary is padded to a multiple of this number times tp (Megatron's default is 128; 1 pads to a multiple
    /// of tp).
    std::uint64_t make_vocab_size_divisible_by = 1;
    /// Splits that replace the splits declared in cost entries (`cost_entry::sharding`). If several splits match a
    /// weight, the last one counts. Write the names of towers in full: "vision.*" with `replicated` means a vision
    /// tower without tensor parallelism.
    std::vector<weight_split> splits{};
};

}  // namespace floptally
